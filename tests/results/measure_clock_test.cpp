#include "results/measure/clock.h"

#include <ctime>

#include "tests/catch.h"

using plimsoll::ManualClock;
using plimsoll::SystemClock;

TEST_CASE("the system clock is CLOCK_MONOTONIC and sleeps until the deadline, not less") {
  SystemClock& clock = SystemClock::instance();
  timespec now{};
  const std::int64_t before_ns = clock.now_ns();
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t after_ns = clock.now_ns();
  const std::int64_t kernel_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  CHECK(before_ns <= kernel_ns);
  CHECK(kernel_ns <= after_ns);
  for (int times = 0; times < 20; ++times) {
    const std::int64_t deadline_ns = clock.now_ns() + 200'000;
    clock.sleep_until_ns(deadline_ns);
    CHECK(clock.now_ns() >= deadline_ns);
  }
  const std::int64_t start_ns = clock.now_ns();
  clock.sleep_until_ns(start_ns - 1'000'000'000);
  clock.sleep_until_ns(-1);
  CHECK(clock.now_ns() - start_ns < 1'000'000'000);
}

TEST_CASE("the wall clock is that of the system") {
  CHECK(SystemClock::wall_ns() / 1'000'000'000 == Approx(std::time(nullptr)).margin(2));
}

TEST_CASE("a manual clock moves only when told") {
  ManualClock clock(5);
  CHECK(clock.now_ns() == 5);
  clock.advance_ns(10);
  CHECK(clock.now_ns() == 15);
  clock.sleep_until_ns(100);
  CHECK(clock.now_ns() == 100);
  clock.sleep_until_ns(50);
  CHECK(clock.now_ns() == 100);
}
