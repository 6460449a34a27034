#include "results/measure/interval_series.h"

#include <sys/resource.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "results/base/units.h"
#include "results/measure/clock.h"
#include "tests/catch.h"

using namespace plimsoll;

namespace {


// What a sample says without its histograms.
struct Seen {
  std::string operation;
  std::int64_t start_ns;
  std::int64_t end_ns;
  bool measured;
  std::uint64_t count;
  bool operator==(const Seen&) const = default;
};

long peak_memory_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("every interval gives one sample an operation, also when nothing happened") {
  std::vector<Seen> seen;
  IntervalSeries series(100, [&](const IntervalSample& sample) {
    seen.push_back(
        {sample.operation, sample.start_ns, sample.end_ns, sample.measured, sample.totals.count()});
  });
  Recorder reader, writer, other_reader;
  series.watch("read", reader);
  series.watch("write", writer);
  series.watch("read", other_reader);
  reader.add({0, 0, 10}, 1);
  other_reader.add({0, 0, 20}, 1);
  series.tick(200);
  series.begin_measured();
  series.tick(300);
  writer.add({0, 0, 10}, 1);
  series.tick(450);
  CHECK(seen == std::vector<Seen>{{"read", 100, 200, false, 2},
                                  {"write", 100, 200, false, 0},
                                  {"read", 200, 300, true, 0},
                                  {"write", 200, 300, true, 0},
                                  {"read", 300, 450, true, 0},
                                  {"write", 300, 450, true, 1}});
}

TEST_CASE("warm-up only marks: its operations are in samples and not in the totals") {
  std::uint64_t sampled = 0;
  IntervalSeries series(0, [&](const IntervalSample& s) { sampled += s.totals.count(); });
  Recorder recorder;
  series.watch("read", recorder);
  recorder.add({0, 0, 1'000'000}, 8);
  series.tick(kSecond_ns);
  CHECK(series.measured_start_ns() == -1);
  series.begin_measured();
  CHECK(series.measured_start_ns() == kSecond_ns);
  recorder.add({0, 5, 20}, 4);
  recorder.add_error(5);
  series.tick(2 * kSecond_ns);
  CHECK(sampled == 2);
  const OpTotals& totals = series.totals().at("read");
  CHECK(totals.count() == 1);
  CHECK(totals.response.max() == 20);
  CHECK(totals.service.max() == 15);
  CHECK(totals.bytes == 4);
  CHECK(totals.errors_by_code.at(5) == 1);
}

TEST_CASE("the last interval is all operations together") {
  IntervalSeries series(0, [](const IntervalSample&) {});
  Recorder reader, writer;
  series.watch("read", reader);
  series.watch("write", writer);
  reader.add({0, 0, 10}, 1);
  writer.add({0, 0, 20}, 2);
  series.tick(kSecond_ns / 2);
  CHECK(series.last().count() == 2);
  CHECK(series.last().bytes == 3);
  CHECK(series.last_seconds() == 0.5);
  series.tick(kSecond_ns);
  CHECK(series.last().count() == 0);
}

TEST_CASE("a percentile over intervals is that of all values, not an average of percentiles") {
  IntervalSeries series(0, [](const IntervalSample&) {});
  Recorder recorder;
  series.watch("read", recorder);
  series.begin_measured();
  for (int i = 0; i < 990; ++i) recorder.add({0, 0, 100}, 0);
  series.tick(1);
  for (int i = 0; i < 10; ++i) recorder.add({0, 0, 2000}, 0);
  series.tick(2);
  CHECK(series.totals().at("read").response.percentile(99) == 100);
  CHECK(series.totals().at("read").response.percentile(99.1) == 2000);
}

TEST_CASE("a sink that throws costs no operation") {
  bool full = true;
  std::uint64_t sampled = 0;
  IntervalSeries series(0, [&](const IntervalSample& sample) {
    if (full) throw std::runtime_error("no space");
    sampled += sample.totals.count();
  });
  Recorder recorder;
  series.watch("read", recorder);
  series.begin_measured();
  recorder.add({0, 0, 10}, 1);
  CHECK_THROWS_AS(series.tick(1), std::runtime_error);
  full = false;
  recorder.add({0, 0, 10}, 1);
  series.tick(2);
  CHECK(sampled == 1);
  CHECK(series.totals().at("read").count() == 2);
}

TEST_CASE("24 hours at a sample a second lose nothing and take no more memory than an hour",
          "[slow]") {
  constexpr int kHour_s = 3600;
  ManualClock clock;
  std::uint64_t sampled = 0;
  IntervalSeries series(clock.now_ns(),
                        [&](const IntervalSample& s) { sampled += s.totals.count(); });
  Recorder recorder;
  series.watch("read", recorder);
  long after_an_hour_kib = 0;
  std::uint64_t recorded = 0;
  for (int second = 0; second < 24 * kHour_s; ++second) {
    for (std::int64_t latency_ns : {80'000, 120'000, 400'000}) {
      const std::int64_t at = clock.now_ns();
      recorder.add({at, at, at + latency_ns + second}, 4096);
      ++recorded;
    }
    clock.advance_ns(kSecond_ns);
    series.tick(clock.now_ns());
    if (second == 10) series.begin_measured();
    if (second == kHour_s) after_an_hour_kib = peak_memory_kib();
  }
  CHECK(sampled == recorded);
  CHECK(series.totals().at("read").count() == recorded - 3 * 11);
  CHECK(series.totals().at("read").bytes == (recorded - 3 * 11) * 4096);
  CHECK(peak_memory_kib() - after_an_hour_kib < 1024);
}
