// The best observer: every request timed inside the kernel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rawio/device/block_stat_observer.h"
#include "rawio/device/bpf/block_probe.h"
#include "rawio/device/observer.h"

namespace plimsoll {

// Whole disks of the stack, up to 8, by eBPF; partitions, which the kernel's events don't name, and
// further disks by the block statistics. Latencies "d2c" and "q2c" (bio-based disks: "q2c" alone,
// from the bio's queueing), and for flushes "flush_wait": what their callers waited. An operation
// belongs to the interval in which it completed; counts are exact. Processes told apart are points:
// "ours_ops", "ours_bytes", the same of "rest" (other processes) and "kernel" (its own threads:
// write-back, journals and lower devices of anyone).
class BpfObserver final : public Observer {
 public:
  explicit BpfObserver(const SystemRoots& roots = {});

  void tell_apart(const OwnProcesses& ours) override { ours_ = ours; }

  // Called again with the same stack, it goes on with the programs that are loaded.
  void start(const DeviceStack& stack, std::int64_t now_ns) override;
  ObserverSample sample(std::int64_t now_ns) override;
  Json describe() const override;

 private:
  struct Said {
    bool iostats_off = false;
    bool lost = false;
    bool gone = false;
  };

  void load(const DeviceStack& stack);
  void add_disk(const ProbedDisk& disk, std::size_t index, std::int64_t now_ns,
                ObserverSample& sample);
  void add_groups(const std::vector<ProbedDisk>& groups, std::int64_t now_ns,
                  ObserverSample& sample) const;
  void add_warnings(const ProbedDisk& disk, Said& said, ObserverSample& sample) const;
  void add_cost(std::int64_t now_ns, ObserverSample& sample);

  SystemRoots roots_;
  OwnProcesses ours_;
  std::vector<ProbeDisk> disks_;
  std::vector<Said> said_;
  std::optional<BlockProbe> probe_;
  BlockStatObserver statistics_;  // of the levels that aren't probed
  ProbeCost last_cost_;
  std::int64_t last_ns_ = 0;
  bool first_ = true;  // what was in flight at the start completes unmatched
};

// Empty when BpfObserver can be had; otherwise why not, and what mends it.
std::string bpf_obstacle();

}  // namespace plimsoll
