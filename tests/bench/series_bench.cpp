// What a long run's record takes: `series_bench [SECONDS [SAMPLES]]` simulates a run of so many
// seconds (a day unless told otherwise) with reads, writes and flushes, so many samples each a
// second around a latency that drifts, as fast as it can be written. Prints the size of the record
// and the memory of the process, and ends with 1 when a day of it would pass 300 MB or 200 MB.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "results/base/units.h"
#include "results/measure/interval_series.h"
#include "results/record/record.h"
#include "tests/lab/temp_dir.h"

namespace {

using namespace plimsoll;
namespace fs = std::filesystem;

constexpr std::int64_t kDay_s = 86'400;
constexpr double kMostRecord_bytes = 300e6;
constexpr double kMostMemory_bytes = 200e6;

std::uint64_t folder_bytes(const fs::path& dir) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(dir)) bytes += entry.file_size();
  return bytes;
}

double peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// One operation's latencies: log-normal around a median that drifts over the hours, as under
// garbage collection and load of the day.
class Latencies {
 public:
  Latencies(double median_ns, std::uint64_t seed) : median_ns_(median_ns), random_(seed) {}
  void record_second(Recorder& recorder, std::int64_t second, std::int64_t now_ns, int samples) {
    const double drift = 1 + 0.5 * std::sin(static_cast<double>(second) / 3600);
    Recorder::Batch batch(recorder);
    for (int i = 0; i < samples; ++i) {
      const auto ns =
          static_cast<std::int64_t>(median_ns_ * drift * std::exp(0.6 * normal_(random_)));
      batch.add({now_ns - ns, now_ns - ns, now_ns}, 4096);
    }
  }

 private:
  double median_ns_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

void simulate(Record& record, std::int64_t seconds, int samples) {
  const Part part = record.begin_part("raw simulated", "raw", Json::object(), 0);
  IntervalSeries series(
      0, [&](const IntervalSample& sample) { record.add_interval(part, "raw", sample); });
  Recorder recorders[3];
  Latencies latencies[3] = {{90e3, 1}, {25e3, 2}, {900e3, 3}};
  const char* names[3] = {"read", "write", "flush"};
  for (int i = 0; i < 3; ++i) series.watch(names[i], recorders[i]);
  series.begin_measured();
  for (std::int64_t second = 0; second < seconds; ++second) {
    const std::int64_t now_ns = (second + 1) * kSecond_ns;
    for (int i = 0; i < 3; ++i) latencies[i].record_second(recorders[i], second, now_ns, samples);
    series.tick(now_ns);
    record.commit();
  }
  record.end_part(part, seconds * kSecond_ns, Json::object());
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t seconds = argc > 1 ? std::atoll(argv[1]) : kDay_s;
  const int samples = argc > 2 ? std::atoi(argv[2]) : 5000;
  const lab::TempDir dir;
  const fs::path run = fs::path(dir.path()) / "run";
  RunSpec spec;
  spec.command = "raw";
  {
    Record record = Record::create(run, spec);
    simulate(record, seconds, samples);
    record.finish(seconds * kSecond_ns);
  }
  const double day = static_cast<double>(folder_bytes(run)) * static_cast<double>(kDay_s) /
                     static_cast<double>(seconds);
  fmt::print(
      "{} s of 3 operations at {}/s each: record {:.1f} MB, a day {:.0f} MB; process {:.0f} "
      "MB at most\n",
      seconds, samples, static_cast<double>(folder_bytes(run)) / 1e6, day / 1e6,
      peak_memory_bytes() / 1e6);
  return day < kMostRecord_bytes && peak_memory_bytes() < kMostMemory_bytes ? 0 : 1;
}
