// What the kernel says of a raw run whose every I/O Plimsoll issued itself.
#include "rawio/workload/run_raw.h"
#include "tests/rawio/bpf_lab.h"

using namespace plimsoll;
using lab::kFlush, lab::kRead, lab::kWrite;

namespace {

struct ProbedRun {
  RawResult own;
  ProbedDisk seen;            // of this process
  std::uint64_t flushes = 0;  // that callers waited for; libaio has them called by kernel threads

  // A kernel may skip the program: for an event that interrupts it, and in a sandbox for all that
  // happens while the sandbox's own processes run.
  bool complete() const {
    const auto& totals = own.totals;
    const auto flush = totals.find("flush");
    const auto write = totals.find("write");
    return seen.at(kRead).count == totals.at("read").count() &&
           (write == totals.end() || seen.at(kWrite).count == write->second.count()) &&
           (flush == totals.end() || flushes == flush->second.count());
  }
};

IoWorkload mixed_workload(const std::string& engine, std::uint32_t depth) {
  IoWorkload workload;
  workload.engine = engine;
  workload.runtime_ns = 200'000'000;
  auto& stream = workload.streams.front();
  stream.read_percent = 50;
  stream.depth = depth;
  stream.fdatasync_every = 8;
  return workload;
}

// One disk, probed from before the first I/O of each run to after its last.
class ProbedRuns {
 public:
  explicit ProbedRuns(const std::string& disk)
      : probe_({probe_disk(disk)}, {.tell_processes_apart = true}) {
    probe_.add_process(getpid());
  }

  ProbedRun run(const IoWorkload& workload, RawTarget& target) {
    probe_.read();
    RawTarget* const targets[] = {&target};
    ProbedRun run;
    run.own = run_raw(workload, targets, record_);
    const auto groups = probe_.read();
    run.seen = groups.at(0);
    REQUIRE(run.seen.group == "ours");
    for (const auto& group : groups) run.flushes += group.flush_wait.count();
    return run;
  }

  // Never more than was done; all of it when nothing was skipped, as in one of a few runs.
  ProbedRun run_until_complete(const IoWorkload& workload, RawTarget& target) {
    auto done = run(workload, target);
    for (int again = 0; again < 9 && !done.complete(); ++again) {
      CHECK(done.seen.at(kRead).count <= done.own.totals.at("read").count());
      CHECK(done.seen.at(kWrite).count <= done.own.totals.at("write").count());
      done = run(workload, target);
    }
    return done;
  }

 private:
  static RunSpec raw_spec() {
    RunSpec spec;
    spec.command = "raw";
    return spec;
  }

  lab::DeviceDir results_;
  Record record_ = Record::create(results_.path() / "run", raw_spec());
  BlockProbe probe_;
};

void check_order(const ProbedRun& run, ProbeOperation kind, const std::string& operation) {
  const auto& own = run.own.totals.at(operation).service;
  for (const double percent : {10.0, 50.0, 90.0}) {
    INFO(operation << " p" << percent);
    const auto& seen = run.seen.at(kind);
    CHECK(seen.d2c.percentile(percent) <= seen.q2c.percentile(percent) * 1.02);
    CHECK(seen.q2c.percentile(percent) <= own.percentile(percent) * 1.02);
  }
}

void check_counts_equal(const ProbedRun& run) {
  const auto& own = run.own.totals;
  CHECK(run.seen.at(kRead).count == own.at("read").count());
  CHECK(run.seen.at(kRead).bytes == own.at("read").bytes);
  CHECK(run.seen.at(kWrite).count == own.at("write").count());
  CHECK(run.seen.at(kWrite).bytes == own.at("write").bytes);
  CHECK(run.flushes == own.at("flush").count());
  CHECK(run.seen.unmatched == 0);
  CHECK(run.seen.untracked == 0);
}

}  // namespace

TEST_CASE("a raw run's counts are the kernel's, operation by operation", "[slow]") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  TargetOptions options;
  options.path = loop->node();
  options.writes = true;
  options.erase.erase = true;
  options.erase.results_dir = "/dev/shm";
  auto target = RawTarget::open(options);
  lab::settled_disk(loop->name());
  ProbedRuns runs(loop->name());
  for (const std::string engine : {"psync", "libaio", "io_uring"}) {
    INFO(engine);
    const auto workload = mixed_workload(engine, engine == "psync" ? 1 : 8);
    const auto run = runs.run_until_complete(workload, target);
    check_counts_equal(run);
    check_order(run, kRead, "read");
    check_order(run, kWrite, "write");
  }
}

// A busy machine wakes the caller late, which only adds: the least of some rounds is the method's.
TEST_CASE("on the root disk service time is less than 15 us over driver time at p50", "[slow]") {
  if (!lab::probe_possible()) return;
  const auto stack = identify(std::filesystem::current_path());
  if (stack.drives().empty()) return lab::skip("the build folder lies on no drive");
  TargetOptions options;
  options.path = std::filesystem::current_path();
  options.file_size_bytes = 4 << 20;
  options.writes = true;
  auto target = RawTarget::open(options);
  target.fill(1, {}, {});
  IoWorkload workload;
  workload.engine = "psync";
  workload.runtime_ns = 20'000'000;
  ProbedRuns runs(stack.drives().front()->name);
  std::int64_t least_ns = INT64_MAX;
  bool complete = false;
  for (int round = 0; round < 400 && (least_ns >= 15'000 || !complete); ++round) {
    const auto run = runs.run(workload, target);
    CHECK(run.seen.at(kRead).count <= run.own.totals.at("read").count());
    complete = complete || run.complete();
    check_order(run, kRead, "read");
    least_ns = std::min(least_ns, run.own.totals.at("read").service.percentile(50) -
                                      run.seen.at(kRead).d2c.percentile(50));
  }
  INFO(least_ns << " ns");
  CHECK(complete);
  CHECK(least_ns < 15'000);
  CHECK(least_ns > 0);
}
