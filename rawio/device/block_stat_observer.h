// The observer that needs no privilege: the kernel's block statistics, read each interval.
#pragma once

#include "rawio/device/block_stat.h"
#include "rawio/device/observer.h"

namespace plimsoll {

// Counts and bytes are exact; an operation that ended less than about a millisecond before the
// sample may be counted in the next. Requests are counted as the device got them, after merging and
// splitting. Latency is a mean only: time_sum_ns / count, queue to complete (Q2C), the sum cut to
// 1 ms (bio-based devices: each operation in whole jiffies). A flush that carries no data (fsync of
// a device, or of a file whose data is written) is counted by the kernel twice: as a flush when the
// device does it, and, waiting included, as a write of no bytes; on a device whose cache is write
// through as neither. It cannot see: percentiles; driver time apart from queue time; flushes of
// partitions and bio-based devices; the sizes of single requests.
class BlockStatObserver final : public Observer {
 public:
  explicit BlockStatObserver(const SystemRoots& roots = {}) : roots_(roots) {}

  void start(const DeviceStack& stack, std::int64_t now_ns) override;
  ObserverSample sample(std::int64_t now_ns) override;
  Json describe() const override;

 private:
  struct Watched {
    BlockDevice device;
    BlockStatReader reader;
    BlockCounters last;
    bool gone = false;
    bool counts_flushes() const;
  };

  bool add_rows(Watched& watched, const BlockCounters& now, std::int64_t now_ns,
                ObserverSample& sample) const;
  void watch(const BlockDevice& device);

  SystemRoots roots_;
  std::vector<Watched> watched_;
  std::vector<Warning> found_at_start_;
  std::int64_t last_ns_ = 0;
};

}  // namespace plimsoll
