#include "results/measure/clock.h"

#include <sys/prctl.h>

#include <cerrno>
#include <ctime>

namespace plimsoll {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t read_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// The kernel's default adds 50 us to every sleep, as much as a read of a fast drive takes.
void tighten_timer_slack() noexcept {
  thread_local const int tightened = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  static_cast<void>(tightened);
}

}  // namespace

std::int64_t SystemClock::now_ns() noexcept {
  return read_ns(CLOCK_MONOTONIC);
}

void SystemClock::sleep_until_ns(std::int64_t deadline_ns) noexcept {
  if (deadline_ns <= now_ns()) return;
  tighten_timer_slack();
  timespec deadline{};
  deadline.tv_sec = deadline_ns / kNsPerSecond;
  deadline.tv_nsec = deadline_ns % kNsPerSecond;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) {
  }
}

SystemClock& SystemClock::instance() {
  static SystemClock clock;
  return clock;
}

std::int64_t SystemClock::wall_ns() noexcept {
  return read_ns(CLOCK_REALTIME);
}

}  // namespace plimsoll
