// The one clock of a run.
#pragma once

#include <cstdint>

namespace plimsoll {

// Nanoseconds of CLOCK_MONOTONIC. All time in a record is this clock; the record keeps one pair
// (monotonic, wall) to place it in the day. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_ns() noexcept = 0;
  // Returns at or just after `deadline_ns`; at once if it has passed.
  virtual void sleep_until_ns(std::int64_t deadline_ns) noexcept = 0;
};

class SystemClock final : public Clock {
 public:
  std::int64_t now_ns() noexcept override;  // about 27 ns under kvm-clock, 20 ns on metal
  // Sleeps, never spins, with the thread's timer slack set to the least. Wakes late by what the
  // host takes: 50..150 us (p1..p90) measured on a busy virtual machine of 2 cores. A loop that
  // paces single I/O of a fast drive must poll the clock instead.
  void sleep_until_ns(std::int64_t deadline_ns) noexcept override;
  static SystemClock& instance();
  // Wall-clock nanoseconds since 1970 UTC, for the record's anchor only.
  static std::int64_t wall_ns() noexcept;
};

// Time that a test moves. sleep_until_ns moves it to the deadline.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t start_ns = 0) : now_ns_(start_ns) {}
  std::int64_t now_ns() noexcept override { return now_ns_; }
  void sleep_until_ns(std::int64_t deadline_ns) noexcept override {
    if (deadline_ns > now_ns_) now_ns_ = deadline_ns;
  }
  void advance_ns(std::int64_t by_ns) noexcept { now_ns_ += by_ns; }

 private:
  std::int64_t now_ns_;
};

}  // namespace plimsoll
