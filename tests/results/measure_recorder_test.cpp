#include "results/measure/recorder.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/catch.h"

using plimsoll::OpTiming;
using plimsoll::OpTotals;
using plimsoll::Recorder;

namespace {

void hammer(Recorder& recorder, std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (i % 1000 == 0) {
      recorder.add_error(static_cast<int>(i % 3));
    } else if (i % 7 == 0) {
      Recorder::Batch batch(recorder);
      for (int in_batch = 0; in_batch < 4; ++in_batch) batch.add({at, at + 10, at + 30}, 1);
    } else {
      recorder.add({at, at + 10, at + 30}, 4);
    }
  }
}

}  // namespace

TEST_CASE("response time counts from the intended start, service time from the actual one") {
  const OpTiming timing{100, 250, 900};
  CHECK(timing.response_ns() == 800);
  CHECK(timing.service_ns() == 650);
  CHECK(timing.lateness_ns() == 150);
  Recorder recorder;
  recorder.add(timing, 4096);
  OpTotals totals;
  recorder.take(totals);
  CHECK(totals.response.max() == 800);
  CHECK(totals.service.max() == 650);
  CHECK(totals.bytes == 4096);
}

TEST_CASE("errors are counted by code and stay out of the histograms") {
  Recorder recorder;
  recorder.add({0, 0, 5}, 512);
  recorder.add_error(5);
  recorder.add_error(28);
  recorder.add_error(5);
  OpTotals totals;
  recorder.take(totals);
  CHECK(totals.count() == 1);
  CHECK(totals.errors == 3);
  CHECK(totals.errors_by_code == std::map<int, std::uint64_t>{{5, 2}, {28, 1}});
}

TEST_CASE("a second take gives only what came since the first") {
  Recorder recorder;
  OpTotals first, second, third;
  recorder.add({0, 0, 5}, 1);
  recorder.take(first);
  recorder.add({0, 0, 6}, 2);
  recorder.add({0, 0, 7}, 3);
  recorder.take(second);
  recorder.take(third);
  CHECK(first.count() == 1);
  CHECK(second.count() == 2);
  CHECK(second.bytes == 5);
  CHECK(third.count() == 0);
  CHECK(third.bytes == 0);
}

TEST_CASE("nothing is lost or counted twice while a reader takes as fast as it can") {
  constexpr std::uint64_t kOperations = 20'000;
  constexpr int kTakes = 200;
  for (const auto fence : {Recorder::Fence::kBest, Recorder::Fence::kWriter}) {
    Recorder alone;
    hammer(alone, kOperations);
    OpTotals once;
    alone.take(once);

    Recorder recorder(fence);
    OpTotals totals;
    std::atomic<int> takes{0};
    std::atomic<bool> done{false};
    OpTotals expected;
    std::thread writer([&] {
      while (takes < kTakes) {
        hammer(recorder, kOperations);
        expected.merge(once);
      }
      done = true;
    });
    for (; !done; ++takes) recorder.take(totals);
    writer.join();
    recorder.take(totals);
    CHECK(totals.count() == expected.count());
    CHECK(totals.bytes == expected.bytes);
    CHECK(totals.errors == expected.errors);
    CHECK(totals.errors_by_code == expected.errors_by_code);
    CHECK(totals.response.sum() == expected.response.sum());
    CHECK(totals.service.sum() == expected.service.sum());
    CHECK(totals.response.count() == expected.response.count());
  }
}

TEST_CASE("a writer that stays in its batch can't hang the reader, and loses nothing") {
  Recorder recorder;
  OpTotals totals;
  {
    Recorder::Batch batch(recorder);
    batch.add({0, 0, 5}, 1);
    const auto start = std::chrono::steady_clock::now();
    recorder.take(totals);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
    CHECK(totals.count() == 0);
    batch.add({0, 0, 6}, 2);
  }
  recorder.add({0, 0, 7}, 4);
  recorder.take(totals);
  CHECK(totals.count() == 3);
  CHECK(totals.bytes == 7);
}
