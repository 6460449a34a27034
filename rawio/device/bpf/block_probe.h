// Times every request of some block devices inside the kernel (eBPF), and reads it out without
// losing one between two readings.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "results/measure/histogram.h"

namespace plimsoll {

// A whole disk to watch, by what sysfs says of it.
struct ProbeDisk {
  std::string name;  // "nvme0n1"
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  bool bio_based = false;             // zram, device-mapper, md: no requests, only bios
  std::uint32_t hardware_queues = 0;  // of a request-based disk
  std::uint32_t tags_per_queue = 0;   // the larger of the driver's and the scheduler's
};

// Reads /sys/block/NAME. Throws UsageError when there is no such disk.
ProbeDisk probe_disk(const std::string& name);

// The kernel offers the program's trace points and type information to this process. Empty when it
// should load; otherwise why not, and what mends it.
std::string probe_obstacle();

enum class ProbeOperation { kRead, kWrite, kFlush, kDiscard, kOther };
inline constexpr std::size_t kProbeOperations = 5;
// "read", "write", "flush", "discard", "other" (write-zeroes, secure erase, zone commands).
std::string_view probe_operation_name(ProbeOperation operation);

// Times of the requests of one size class. Values are midpoints of bins at most 1/32 wide: at most
// 1.6 % off (under 64 ns, 2 ns); maximum and sum are exact.
struct ProbedSizes {
  std::uint64_t up_to_bytes = 0;  // UINT64_MAX: no limit
  std::uint64_t count = 0;
  Histogram d2c;  // driver to completion; empty for a bio-based device
  Histogram q2c;  // queued in the block layer to completion; empty where iostats is off
};

struct ProbedOperation {
  std::uint64_t count = 0;  // successful, completed since the last reading
  std::uint64_t bytes = 0;
  std::uint64_t errors = 0;
  std::map<int, std::uint64_t> errors_by_code;  // by errno
  Histogram d2c;
  Histogram q2c;
  std::vector<ProbedSizes> sizes;  // classes that occurred; reads and writes only
  std::uint64_t issued = 0;
  std::uint64_t sequential = 0;  // issued where the one of this operation issued before it ended
};

// One disk (and one group of processes) between two readings.
struct ProbedDisk {
  std::string name;
  std::string group;  // "all", or "ours", "rest", "kernel" (write-back and journals: of anyone)
  std::array<ProbedOperation, kProbeOperations> operations;
  // What callers of a flush waited, the flush in flight before theirs included. Flushes are
  // merged, so that there can be more of these than the device's own.
  Histogram flush_wait;
  Histogram depth;                  // requests in the driver at each issue, itself included
  std::int64_t in_flight = 0;       // now; of the whole disk
  std::uint64_t partial = 0;        // completions of a part of a request; its rest completes later
  std::uint64_t requeued = 0;       // given back by the driver, issued again
  std::uint64_t unmatched = 0;      // completed without D2C: issued before the start, or untracked
  std::uint64_t no_start_time = 0;  // completed without Q2C: iostats is off
  std::uint64_t untracked = 0;      // issued, but no place was left to keep the time
  // Completions that weren't shown to the program, as far as known: their tag was used again.
  // Kernels of some sandboxes run no programs while their own processes run.
  std::uint64_t unseen = 0;
  const ProbedOperation& at(ProbeOperation operation) const {
    return operations[static_cast<std::size_t>(operation)];
  }
};

// Of one disk, the groups together: counts and histograms add.
ProbedDisk together(const std::vector<ProbedDisk>& groups);

// By the kernel's own statistics, while they are on.
struct ProbeCost {
  std::uint64_t runs = 0;    // of all programs since the start
  std::int64_t time_ns = 0;  // in them
  // Events skipped because the program was interrupted by itself on one CPU; of any disk.
  std::uint64_t missed = 0;
};

struct ProbeOptions {
  bool tell_processes_apart = false;
  // The kernel then counts runs and time of BPF programs, which costs some 40 ns a run itself.
  bool measure_cost = false;
};

// Used by one thread. Programs, maps and links belong to file descriptors of this process: they are
// gone with the object, or with the process however it ends.
class BlockProbe {
 public:
  // At most 8 disks. Throws RefusedError naming what is missing, BrokenError.
  BlockProbe(std::vector<ProbeDisk> disks, const ProbeOptions& options = {});
  ~BlockProbe();
  BlockProbe(BlockProbe&&) noexcept;
  BlockProbe& operator=(BlockProbe&&) noexcept;

  // With tell_processes_apart: this process, its threads and the children it forks from now on are
  // "ours". Its present children have to be named as well.
  void add_process(int process_id);

  // All that completed since the last call (or the start): one entry a disk and group, in the order
  // of the disks. Takes one RCU grace period, typically 10-30 ms.
  std::vector<ProbedDisk> read();

  ProbeCost cost() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
