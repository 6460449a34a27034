// The one schedule that all terminals serve.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "results/measure/arrivals.h"

namespace plimsoll {

// First come, first served by whichever terminal is free, as in a pool of connections: an arrival
// is claimed in order and waited for, or started late when all terminals were busy. It holds the
// schedule only, no queued entries, so that overload costs nothing and ends nothing; what is
// overdue is counted. Thread-safe.
class ArrivalQueue {
 public:
  // Before the terminals start; until then there is nothing to claim.
  void open(Arrivals arrivals);

  // The intended start of the caller's next transaction (now for a closed loop); empty at the end:
  // it, or now, is not before the deadline.
  std::optional<std::int64_t> claim(std::int64_t now_ns);
  // A claimed arrival that the deadline overtook.
  void give_up() noexcept { given_up_.fetch_add(1, std::memory_order_relaxed); }

  std::int64_t deadline_ns() const noexcept { return deadline_ns_.load(std::memory_order_relaxed); }
  // Claims and waits see it at once. Of several, the earliest holds.
  void end_at(std::int64_t deadline_ns) noexcept;

  // How late the next arrival is; 0 when it isn't, and for a closed loop.
  std::int64_t overdue_ns(std::int64_t now_ns);
  // Arrivals due before the deadline that were never started. Once, after the terminals have ended.
  std::uint64_t count_unstarted();

 private:
  std::mutex mutex_;
  Arrivals arrivals_ = Arrivals::closed();
  std::atomic<std::int64_t> deadline_ns_{INT64_MIN};
  std::atomic<std::uint64_t> given_up_{0};
};

}  // namespace plimsoll
