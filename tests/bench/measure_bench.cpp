// What Plimsoll's own measuring costs an operation: `measure_bench [OPERATIONS]`. Each figure is
// the best of five rounds, in ns, because what disturbs a round only ever adds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "results/measure/arrivals.h"
#include "results/measure/clock.h"
#include "results/measure/histogram.h"
#include "results/measure/recorder.h"

namespace {

using namespace plimsoll;

constexpr int kRounds = 5;
constexpr int kBatch = 8;

// Latencies of a drive: 50..250 us, and one in 64 is 16 times that.
std::vector<std::int64_t> latencies() {
  std::vector<std::int64_t> values(4096);
  std::uint64_t state = 1;
  for (auto& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = 50'000 + static_cast<std::int64_t>((state >> 33) % 200'000);
    if ((state >> 58) == 0) value *= 16;
  }
  return values;
}

double best_ns(std::uint64_t operations, const std::function<void()>& round) {
  SystemClock& clock = SystemClock::instance();
  std::int64_t best = INT64_MAX;
  for (int i = 0; i < kRounds; ++i) {
    const std::int64_t start_ns = clock.now_ns();
    round();
    best = std::min(best, clock.now_ns() - start_ns);
  }
  return static_cast<double>(best) / static_cast<double>(operations);
}

bool print(const char* what, double ns, bool complete) {
  fmt::print("{:<38} {:>8.2f} ns{}\n", what, ns, complete ? "" : "   LOST OPERATIONS");
  return complete;
}

bool bench_clock(std::uint64_t operations) {
  SystemClock& clock = SystemClock::instance();
  std::int64_t last_ns = 0;
  bool forward = true;
  const double ns = best_ns(operations, [&] {
    for (std::uint64_t i = 0; i < operations; ++i) {
      const std::int64_t now_ns = clock.now_ns();
      forward &= now_ns >= last_ns;
      last_ns = now_ns;
    }
  });
  return print("Clock::now_ns", ns, forward);
}

bool bench_histogram(std::uint64_t operations) {
  const std::vector<std::int64_t> values = latencies();
  Histogram histogram;
  const double ns = best_ns(operations, [&] {
    for (std::uint64_t i = 0; i < operations; ++i) histogram.record(values[i % values.size()]);
  });
  return print("Histogram::record", ns, histogram.count() == operations * kRounds);
}

bool bench_recorder(std::uint64_t operations, Recorder::Fence fence, const char* name) {
  const std::vector<std::int64_t> values = latencies();
  Recorder recorder(fence);
  const double ns = best_ns(operations, [&] {
    for (std::uint64_t i = 0; i < operations; ++i) {
      recorder.add({0, 0, values[i % values.size()]}, 4096);
    }
  });
  OpTotals totals;
  recorder.take(totals);
  return print(name, ns, totals.count() == operations * kRounds);
}

bool bench_batch(std::uint64_t operations) {
  const std::vector<std::int64_t> values = latencies();
  Recorder recorder;
  const double ns = best_ns(operations, [&] {
    for (std::uint64_t i = 0; i < operations; i += kBatch) {
      Recorder::Batch batch(recorder);
      for (std::uint64_t j = i; j < i + kBatch; ++j) {
        batch.add({0, 0, values[j % values.size()]}, 4096);
      }
    }
  });
  OpTotals totals;
  recorder.take(totals);
  return print("Recorder::Batch::add, 8 a batch", ns, totals.count() == operations * kRounds);
}

bool bench_take(std::uint64_t times) {
  Recorder recorder;
  OpTotals totals;
  const std::vector<std::int64_t> values = latencies();
  const double ns = best_ns(times, [&] {
    for (std::uint64_t i = 0; i < times; ++i) {
      for (const std::int64_t value : values) recorder.add({0, 0, value}, 4096);
      recorder.take(totals);
    }
  });
  const bool complete = totals.count() == times * kRounds * values.size();
  return print("Recorder::take after 4096 adds, both", ns, complete);
}

bool bench_arrivals(std::uint64_t operations, Arrivals arrivals, const char* name) {
  const double ns = best_ns(operations, [&] {
    for (std::uint64_t i = 0; i < operations; ++i) arrivals.advance();
  });
  return print(name, ns, arrivals.due_ns(0) > 0);
}

bool bench_encode(std::uint64_t times) {
  Histogram histogram;
  for (const std::int64_t value : latencies()) histogram.record(value);
  std::size_t bytes = 0;
  const double ns = best_ns(times, [&] {
    for (std::uint64_t i = 0; i < times; ++i) bytes = histogram.encode().size();
  });
  const bool complete = Histogram::decode(histogram.encode()).count() == histogram.count();
  const bool printed = print("Histogram::encode of 4096 values", ns, complete);
  fmt::print("{:<38} {:>8} bytes\n", "  its size", bytes);
  return printed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t asked = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000'000;
  const std::uint64_t operations = std::max<std::uint64_t>(asked / kBatch, 1) * kBatch;
  const std::uint64_t few = operations / 20'000 + 1;
  bool complete = bench_clock(operations);
  complete &= bench_histogram(operations);
  complete &= bench_recorder(operations, Recorder::Fence::kBest, "Recorder::add");
  complete &=
      bench_recorder(operations, Recorder::Fence::kWriter, "Recorder::add without membarrier");
  complete &= bench_batch(operations);
  complete &= bench_take(few);
  complete &=
      bench_arrivals(operations, Arrivals::constant(600'000, 0), "Arrivals::advance, constant");
  complete &=
      bench_arrivals(operations, Arrivals::poisson(600'000, 0, 1), "Arrivals::advance, poisson");
  complete &= bench_encode(few);
  return complete ? EXIT_SUCCESS : EXIT_FAILURE;
}
