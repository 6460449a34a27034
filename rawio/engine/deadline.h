// What is left of a reap's time limit.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace plimsoll {

// Reads the clock only where a limit was given. Negative limit: none.
class Deadline {
 public:
  explicit Deadline(std::int64_t timeout_ns) noexcept
      : at_ns_(timeout_ns < 0 ? -1 : now_ns() + timeout_ns) {}

  bool unlimited() const noexcept { return at_ns_ < 0; }
  // 0 once it has passed.
  timespec left() const noexcept {
    const std::int64_t left_ns = std::max<std::int64_t>(0, at_ns_ - now_ns());
    return {static_cast<time_t>(left_ns / kSecond_ns), static_cast<long>(left_ns % kSecond_ns)};
  }

 private:
  static constexpr std::int64_t kSecond_ns = 1'000'000'000;
  static std::int64_t now_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * kSecond_ns + now.tv_nsec;
  }
  std::int64_t at_ns_;
};

}  // namespace plimsoll
