// The measured loop, on the null engine and on real files.
#include <chrono>
#include <cmath>
#include <thread>

#include "rawio/workload/job_threads.h"
#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/rawio/engine_test_file.h"

using namespace plimsoll;
using plimsoll::test::DirectFile;

namespace {

constexpr std::int64_t kMs_ns = 1'000'000;

struct Outcome {
  std::map<std::string, OpTotals> totals;
  double seconds;
  JobOutcome job;
  std::uint64_t asked_bytes;
};

// One job on `file`, which has `size_bytes`.
Outcome run(const IoWorkload& workload, int file, std::uint64_t size_bytes,
            const std::function<void(JobThreads&)>& meanwhile = {}) {
  const IoStream& stream = workload.streams.front();
  std::vector<std::unique_ptr<IoJob>> jobs;
  jobs.push_back(std::make_unique<IoJob>(workload, stream, piece_of(stream, 0, size_bytes),
                                         JobSeat{}, workload.seed));
  JobThreads threads(std::move(jobs), {file});
  threads.open();
  const std::int64_t start_ns = SystemClock::instance().now_ns();
  IntervalSeries series(start_ns, [](const IntervalSample&) {});
  threads.jobs().front()->watch(series);
  series.begin_measured();
  threads.start({start_ns, start_ns,
                 workload.runtime_ns ? start_ns + workload.runtime_ns : INT64_MAX,
                 workload.bytes ? workload.bytes : UINT64_MAX});
  if (meanwhile) meanwhile(threads);
  while (!threads.wait_until(start_ns + 60'000 * kMs_ns, {})) {
  }
  const std::int64_t end_ns = SystemClock::instance().now_ns();
  series.tick(end_ns);
  return {series.totals(), static_cast<double>(end_ns - start_ns) * 1e-9,
          threads.jobs().front()->outcome(), threads.asked_bytes()};
}

IoWorkload null_workload() {
  IoWorkload workload;
  workload.engine = "null";
  workload.streams.front().depth = 32;
  return workload;
}

}  // namespace

TEST_CASE("a byte budget is met exactly and every I/O is counted") {
  auto workload = null_workload();
  workload.bytes = 1000 * 4096;
  const auto outcome = run(workload, -1, 1 << 20);
  CHECK(outcome.totals.at("read").count() == 1000);
  CHECK(outcome.totals.at("read").bytes == 1000 * 4096);
  CHECK(outcome.totals.at("read").errors == 0);
  CHECK(outcome.asked_bytes == 1000 * 4096);
}

TEST_CASE("writes, reads and flushes are counted apart") {
  auto workload = null_workload();
  auto& stream = workload.streams.front();
  stream.read_percent = 50;
  stream.fdatasync_every = 7;
  workload.bytes = 10'000 * 4096;
  const auto outcome = run(workload, -1, 1 << 20);
  const auto writes = outcome.totals.at("write").count();
  CHECK(writes + outcome.totals.at("read").count() == 10'000);
  CHECK(outcome.totals.at("flush").count() == (writes + 6) / 7);
  CHECK(outcome.totals.at("flush").bytes == 0);
}

TEST_CASE("trims are counted apart, and the range trimmed reads as zeros") {
  for (const auto& kind : engine_kinds()) {
    if (kind.name == "null") continue;
    INFO("engine " << kind.name);
    DirectFile file(1 << 20);
    IoWorkload workload;
    workload.engine = kind.name;
    workload.bytes = 1 << 20;
    auto& stream = workload.streams.front();
    stream.depth = kind.name == "psync" ? 1 : 8;
    stream.pattern = AccessPattern::kSequential;
    stream.read_percent = 0;
    stream.trim_percent = 50;
    const auto outcome = run(workload, file.fd(), 1 << 20);
    const auto& trims = outcome.totals.at("trim");
    CHECK(trims.count() + outcome.totals.at("write").count() == 256);
    CHECK(trims.errors == 0);
    CHECK(trims.bytes == trims.count() * 4096);
    test::Pages pages(1 << 20);
    REQUIRE(::pread(file.fd(), pages.at(0), 1 << 20, 0) == 1 << 20);
    std::uint64_t zeros = 0;
    for (std::size_t at = 0; at < 1 << 20; at += 4096) {
      const auto block = pages.span().subspan(at, 4096);
      zeros += std::all_of(block.begin(), block.end(), [](auto b) { return b == std::byte{}; });
    }
    CHECK(zeros == trims.count());
  }
}

TEST_CASE("a job thinks after so many requests, when they have finished") {
  auto workload = null_workload();
  auto& stream = workload.streams.front();
  stream.depth = 4;
  stream.think_ns = 20 * kMs_ns;
  stream.think_every = 10;
  workload.bytes = 50 * 4096;
  const auto outcome = run(workload, -1, 1 << 20);
  CHECK(outcome.totals.at("read").count() == 50);
  CHECK(outcome.seconds >= 0.08);  // four times between the five tens
  CHECK(outcome.seconds < 0.5);
  CHECK(outcome.totals.at("read").service.max() < 15 * kMs_ns);
}

TEST_CASE("the final flush is done, timed and counted") {
  auto workload = null_workload();
  auto& stream = workload.streams.front();
  stream.read_percent = 0;
  stream.depth = 1;
  stream.fsync_every = 4;
  workload.bytes = 10 * 4096;
  CHECK(run(workload, -1, 1 << 20).totals.at("flush").count() == 3);
  workload.bytes = 8 * 4096;
  CHECK(run(workload, -1, 1 << 20).totals.at("flush").count() == 2);
}

TEST_CASE("the end of the time ends the job, and what was in flight is in the figures") {
  for (const auto& kind : engine_kinds()) {
    INFO("engine " << kind.name);
    DirectFile file(1 << 20);
    IoWorkload workload;
    workload.engine = kind.name;
    workload.streams.front().depth = kind.name == "psync" ? 1 : 8;
    workload.runtime_ns = 50 * kMs_ns;
    const auto outcome = run(workload, file.fd(), 1 << 20);
    CHECK(outcome.seconds >= 0.05);
    CHECK(outcome.seconds < 1);
    const auto& reads = outcome.totals.at("read");
    CHECK(reads.count() > 0);
    CHECK(outcome.asked_bytes == reads.bytes);
  }
}

TEST_CASE("throughput times latency is the depth, within 1 %") {
  for (const char* engine : {"libaio", "io_uring"}) {
    INFO("engine " << engine);
    DirectFile file(1 << 20);
    IoWorkload workload;
    workload.engine = engine;
    workload.streams.front().depth = 16;
    workload.runtime_ns = 300 * kMs_ns;
    // Where the thread waits for a processor with its slots free, or the end is seen late, there is
    // less in flight: a busy machine gets more chances. An error of the measurement would be in
    // each.
    double depth = 0;
    for (int chance = 0; chance < 8 && std::abs(depth / 16 - 1) > 0.01; ++chance) {
      const auto outcome = run(workload, file.fd(), 1 << 20);
      const auto& reads = outcome.totals.at("read");
      depth = reads.service.mean() * 1e-9 * double(reads.count()) / outcome.seconds;
    }
    CHECK(depth == Approx(16).epsilon(0.01));
  }
}

TEST_CASE("an open loop starts what it is asked, at the rate it is asked") {
  for (const auto kind : {ArrivalKind::kConstant, ArrivalKind::kPoisson}) {
    auto workload = null_workload();
    auto& stream = workload.streams.front();
    stream.arrivals = kind;
    stream.rate_per_s = 100'000;
    workload.runtime_ns = 300 * kMs_ns;
    const auto outcome = run(workload, -1, 1 << 20);
    const auto done = outcome.totals.at("read").count() + outcome.job.backlog;
    // A poisson count of 30,000 strays by 173 (one deviation); a constant one by none.
    const double margin = kind == ArrivalKind::kConstant ? 1 : 900;
    CHECK(double(done) == Approx(30'000).margin(margin));
    CHECK(outcome.job.lateness.count() == outcome.totals.at("read").count());
  }
}

TEST_CASE("a rate of under one a second is kept") {
  auto workload = null_workload();
  auto& stream = workload.streams.front();
  stream.arrivals = ArrivalKind::kConstant;
  stream.rate_per_s = 5;
  workload.runtime_ns = 500 * kMs_ns;
  const auto outcome = run(workload, -1, 1 << 20);
  CHECK(outcome.totals.at("read").count() == 3);  // at 0, 200 and 400 ms
}

TEST_CASE("a request that waits for a slot has the wait in its response time alone") {
  DirectFile file(1 << 20);
  IoWorkload workload;
  workload.engine = "psync";
  auto& stream = workload.streams.front();
  stream.arrivals = ArrivalKind::kConstant;
  stream.rate_per_s = 1'900'000;  // far more than one thread can do
  workload.runtime_ns = 100 * kMs_ns;
  const auto outcome = run(workload, file.fd(), 1 << 20);
  const auto& reads = outcome.totals.at("read");
  CHECK(reads.response.max() > 20 * kMs_ns);
  CHECK(reads.response.percentile(50) > 4 * reads.service.percentile(50));
  CHECK(outcome.job.backlog > 1000);
}

TEST_CASE("a stop is obeyed in the middle of a long wait for the next due time") {
  auto workload = null_workload();
  auto& stream = workload.streams.front();
  stream.arrivals = ArrivalKind::kConstant;
  stream.rate_per_s = 0.1;
  workload.runtime_ns = 60'000 * kMs_ns;
  const auto outcome = run(workload, -1, 1 << 20, [](JobThreads& threads) { threads.stop(); });
  CHECK(outcome.seconds < 1);
}

TEST_CASE("a failed I/O stops the job and tells where, or is counted when so asked") {
  DirectFile file(1 << 20);
  for (const auto& kind : engine_kinds()) {
    if (kind.name == "null") continue;
    INFO("engine " << kind.name);
    IoWorkload workload;
    workload.engine = kind.name;
    workload.bytes = 2 << 20;
    workload.streams.front().pattern = AccessPattern::kSequential;
    // The file has 1 MiB; the job believes in 2 and so reads past the end.
    const auto stopped = run(workload, file.fd(), 2 << 20);
    REQUIRE(stopped.job.failure);
    CHECK(stopped.job.failure->offset == 1 << 20);
    CHECK(stopped.job.failure->error_code == ENODATA);
    CHECK(stopped.totals.at("read").errors == 1);
    CHECK(stopped.totals.at("read").count() == 256);

    workload.on_error = OnError::kCount;
    const auto counted = run(workload, file.fd(), 2 << 20);
    CHECK(counted.totals.at("read").errors == 256);
    CHECK(counted.totals.at("read").errors_by_code.at(ENODATA) == 256);
    CHECK(counted.totals.at("read").count() == 256);
  }
}

TEST_CASE("an engine that can't be opened ends the start with its words") {
  IoWorkload workload;
  workload.engine = "psync";
  workload.streams.front().depth = 2;
  workload.runtime_ns = kMs_ns;
  CHECK_THROWS_WITH(run(workload, -1, 1 << 20), ContainsSubstring("--jobs"));
}

TEST_CASE("one I/O on the null engine costs no more than four clock readings and 60 ns") {
  auto workload = null_workload();
  workload.bytes = 4'000'000ull * 4096;
  const auto outcome = run(workload, -1, 1 << 30);
  const auto start_ns = SystemClock::instance().now_ns();
  for (int i = 0; i < 100'000; ++i) (void)SystemClock::instance().now_ns();
  const double clock_ns = double(SystemClock::instance().now_ns() - start_ns) / 100'000;
  const double io_ns = outcome.job.cpu_user_s * 1e9 / 4e6;
  WARN("null engine: " << io_ns << " ns an I/O, the clock " << clock_ns << " ns a reading");
#ifndef __SANITIZE_ADDRESS__
  CHECK(io_ns < 4 * clock_ns + 60);
#endif
}
