#include <sys/mount.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "oltp/terminal/run_oltp.h"
#include "oltp/workload/sysbench_load.h"
#include "tests/catch.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"
#include "tests/oltp/fake_session.h"

namespace plimsoll {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMs = 1'000'000;

// Runs `step(terminal, attempt)` as its transaction, and counts; attempt counts from 0 for each
// draw. One type, or two that alternate.
class ScriptedWorkload final : public Workload {
 public:
  std::function<Outcome(int terminal, int attempt)> step = [](int, int) { return Outcome::kOk; };
  std::vector<std::string> names = {"fake"};
  mutable std::atomic<std::uint64_t> started{0};
  mutable std::atomic<std::uint64_t> attempts{0};

  std::string name() const override { return "scripted"; }
  const std::vector<std::string>& transactions() const override { return names; }
  std::string distribution() const override { return "none"; }
  nlohmann::ordered_json spec() const override { return {{"workload", name()}}; }
  std::unique_ptr<Script> script(Session& session, int terminal) const override {
    return std::make_unique<FakeScript>(*this, session, terminal);
  }

 private:
  class FakeScript final : public Script {
   public:
    FakeScript(const ScriptedWorkload& workload, Session& session, int terminal)
        : workload_(workload),
          session_(static_cast<fakes::FakeSession&>(session)),
          terminal_(terminal) {}
    std::size_t draw(Rng&) override {
      attempt_ = 0;
      return next_type_++ % workload_.names.size();
    }
    Outcome run() override {
      if (attempt_ == 0) ++workload_.started;
      ++workload_.attempts;
      const Outcome outcome = workload_.step(terminal_, attempt_++);
      session_.decide = [outcome](std::size_t) { return outcome; };
      return session_.commit();
    }

   private:
    const ScriptedWorkload& workload_;
    fakes::FakeSession& session_;
    int terminal_;
    int attempt_ = 0;
    std::size_t next_type_ = 0;
  };
};

OltpSpec quick(int threads = 2, std::int64_t time_ms = 200) {
  OltpSpec spec;
  spec.threads = threads;
  spec.time_ns = time_ms * kMs;
  spec.interval_ns = 50 * kMs;
  return spec;
}

struct Bench {
  lab::TempDir dir;
  Record record = Record::create(dir.free_path("run"), RunSpec{});
  fakes::FakeDatabase database;
  ScriptedWorkload workload;

  OltpResult run(const OltpSpec& spec, const OltpHooks& hooks = {}) {
    return run_oltp(database, workload, spec, record, "part", hooks);
  }
};

Outcome take(std::chrono::microseconds time, Outcome outcome = Outcome::kOk) {
  std::this_thread::sleep_for(time);
  return outcome;
}

std::uint64_t sum(const Json& counts) {
  std::uint64_t total = 0;
  for (const auto& [code, count] : counts.items()) total += count.get<std::uint64_t>();
  return total;
}

bool has_warning(const Record& record, const std::string& id) {
  const auto warnings = record.warnings();
  return std::ranges::find(warnings, id, &Warning::id) != warnings.end();
}

}  // namespace

TEST_CASE("every transaction that starts ends as committed, rolled back or failed") {
  Bench bench;
  std::atomic<int> turn{0};
  bench.workload.step = [&](int, int) {
    static constexpr std::array kOutcomes = {Outcome::kOk, Outcome::kUserRollback, Outcome::kFailed,
                                             Outcome::kRetryable, Outcome::kInDoubt};
    return take(100us, kOutcomes[static_cast<std::size_t>(turn++) % kOutcomes.size()]);
  };
  const Json facts = bench.run(quick(4)).part.facts;
  const std::uint64_t committed = facts["committed"];
  const std::uint64_t rollbacks = facts["user_rollbacks"];
  const std::uint64_t failed = facts["failed"];
  const std::uint64_t retried = facts["retried"];
  CHECK(committed > 0);
  CHECK(rollbacks > 0);
  CHECK(failed > 0);
  CHECK(retried > 0);
  CHECK(committed + rollbacks + failed == bench.workload.started);
  CHECK(committed + rollbacks + failed + retried == bench.workload.attempts);
  CHECK(sum(facts["errors"]) == failed);
  CHECK(sum(facts["retries"]) == retried);
  CHECK(has_warning(bench.record, "errors"));
}

TEST_CASE("the record's rows hold what the facts count, without gaps between intervals") {
  Bench bench;
  bench.workload.names = {"first", "second"};
  bench.workload.step = [](int, int) { return take(100us); };
  OltpSpec spec = quick();
  spec.warmup_ns = 120 * kMs;
  const OltpResult result = bench.run(spec);
  const auto rows = bench.record.intervals(result.part, "oltp");
  const auto total = bench.record.total(result.part, "oltp", "");
  CHECK(total.count == result.part.facts["committed"]);
  CHECK(total.errors == 0);
  CHECK(bench.record.operations(result.part, "oltp") ==
        std::vector<std::string>{"first", "second"});
  std::uint64_t warm_up = 0;
  std::map<std::string, std::int64_t> last_end;
  for (const IntervalRow& row : rows) {
    if (!row.measured) warm_up += row.count;
    if (last_end.contains(row.operation)) CHECK(row.start_ns == last_end[row.operation]);
    last_end[row.operation] = row.end_ns;
  }
  CHECK(warm_up > 0);
  CHECK(warm_up + total.count == bench.workload.started);
  CHECK(total.end_ns - total.start_ns >= spec.time_ns);
  CHECK(total.end_ns - total.start_ns < spec.time_ns + 50 * kMs);
}

TEST_CASE("a retry is bounded, and response and service time hold its waits") {
  Bench bench;
  bench.workload.step = [](int, int attempt) {
    return take(1ms, attempt < 2 ? Outcome::kRetryable : Outcome::kOk);
  };
  OltpSpec spec = quick(1, 300);
  spec.retry.first_wait_ns = 4 * kMs;
  const OltpResult result = bench.run(spec);
  const auto total = bench.record.total(result.part, "oltp", "");
  for (const LatencyRow& latency : total.latencies) {
    CHECK(latency.histogram.min() >= (3 + 2 + 4) * kMs);  // waits of at least 2 and 4 ms
  }
  const double retrying_s = result.part.facts["retrying_s"];
  CHECK(retrying_s >= static_cast<double>(total.count) * 8e-3);

  Bench hopeless;
  hopeless.workload.step = [](int, int) { return take(10us, Outcome::kRetryable); };
  spec.retry = {.limit = 3, .first_wait_ns = 10'000, .longest_wait_ns = 20'000};
  const Json facts = hopeless.run(spec).part.facts;
  CHECK(facts["committed"] == 0);
  CHECK(facts["failed"].get<std::uint64_t>() > 1);
  // Each transaction is run 1 + 3 times; the one that the deadline cuts, less often.
  CHECK(facts["retried"].get<std::uint64_t>() >= (facts["failed"].get<std::uint64_t>() - 1) * 3);
  CHECK(facts["retried"].get<std::uint64_t>() <= facts["failed"].get<std::uint64_t>() * 3);
}

TEST_CASE("deadlocks without end hold the run for a second past its deadline at most") {
  Bench bench;
  bench.workload.step = [](int, int) { return Outcome::kRetryable; };
  OltpSpec spec = quick(4);
  spec.retry = {.limit = 1'000'000, .first_wait_ns = 5'000 * kMs, .longest_wait_ns = 5'000 * kMs};
  const auto start = std::chrono::steady_clock::now();
  bench.run(spec);
  CHECK(std::chrono::steady_clock::now() - start < 1400ms);
}

TEST_CASE("a conflict as the time is up is repeated and not counted as failed") {
  Bench bench;
  bench.workload.step = [](int, int attempt) {
    return attempt == 0 ? take(150ms, Outcome::kRetryable) : Outcome::kOk;
  };
  const OltpResult result = bench.run(quick(1, 100));
  CHECK(result.part.facts["committed"] == 1);
  CHECK(result.part.facts["failed"] == 0);
}

TEST_CASE("what is in doubt is never run again") {
  Bench bench;
  bench.workload.step = [](int, int) { return take(100us, Outcome::kInDoubt); };
  const Json facts = bench.run(quick()).part.facts;
  CHECK(facts["retried"] == 0);
  CHECK(bench.workload.attempts == bench.workload.started);
  CHECK(facts["failed"] == bench.workload.started.load());
}

TEST_CASE("a transaction that runs at the deadline is finished and counted") {
  Bench bench;
  bench.workload.step = [](int, int) { return take(150ms); };
  const OltpResult result = bench.run(quick(1, 100));
  CHECK(result.part.facts["committed"] == 1);
  const auto total = bench.record.total(result.part, "oltp", "");
  CHECK(total.end_ns - total.start_ns >= 150 * kMs);
}

TEST_CASE("an open loop keeps its rate, and its idle terminals start on time") {
  Bench bench;
  OltpSpec spec = quick(4, 500);
  spec.rate_per_s = 400;
  spec.arrivals = ArrivalKind::kConstant;
  const OltpResult result = bench.run(spec);
  CHECK(result.part.facts["committed"] == 200);
  CHECK(result.part.facts["unstarted"] == 0);
  CHECK(result.part.facts["asked_rate"] == 400);
  const auto total = bench.record.total(result.part, "oltp", "");
  CHECK(total.latencies[0].histogram.percentile(50) < 5 * kMs);
}

TEST_CASE("overload: the wait for a terminal is response time, what never started is counted") {
  Bench bench;
  bench.workload.step = [](int, int) { return take(10ms); };
  OltpSpec spec = quick(1, 400);
  spec.rate_per_s = 1000;
  spec.arrivals = ArrivalKind::kConstant;
  const OltpResult result = bench.run(spec);
  const std::uint64_t committed = result.part.facts["committed"];
  CHECK(committed <= 40);
  CHECK(committed + result.part.facts["unstarted"].get<std::uint64_t>() == 400);
  for (const LatencyRow& latency : bench.record.total(result.part, "oltp", "").latencies) {
    if (latency.measure == "response") CHECK(latency.histogram.max() > 300 * kMs);
    if (latency.measure == "service") CHECK(latency.histogram.percentile(50) < 20 * kMs);
  }
  CHECK(has_warning(bench.record, "behind-schedule"));
}

TEST_CASE("a slow terminal delays no arrival that another could serve") {
  Bench bench;
  bench.workload.step = [](int terminal, int) { return take(terminal == 0 ? 400ms : 100us); };
  OltpSpec spec = quick(2, 300);
  spec.rate_per_s = 200;
  spec.arrivals = ArrivalKind::kConstant;
  const OltpResult result = bench.run(spec);
  CHECK(result.part.facts["committed"] == 60);
  for (const LatencyRow& latency : bench.record.total(result.part, "oltp", "").latencies) {
    CHECK(latency.histogram.percentile(90) < 20 * kMs);
  }
}

TEST_CASE("a fatal error ends the run with its words, and what was measured stays") {
  Bench bench;
  std::atomic<int> left{50};
  bench.workload.step = [&](int, int) {
    return take(1ms, --left < 0 ? Outcome::kFatal : Outcome::kOk);
  };
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(bench.run(quick(2, 60'000)),
                    ContainsSubstring("as told") && ContainsSubstring("FAKE"));
  CHECK(std::chrono::steady_clock::now() - start < 2s);
  const Part part = bench.record.parts().at(0);
  CHECK(part.end_ns.has_value());
  CHECK(part.facts["committed"] == 50);
  CHECK(bench.record.total(part, "oltp", "").count == 50);
}

TEST_CASE("a stop ends the run soon, as interrupted, also while terminals wait for arrivals") {
  Bench bench;
  std::stop_source stop;
  OltpHooks hooks;
  hooks.stop = stop.get_token();
  OltpSpec spec = quick(2, 60'000);
  spec.rate_per_s = 0.1;
  std::jthread user([&] {
    std::this_thread::sleep_for(100ms);
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  const OltpResult result = bench.run(spec, hooks);
  CHECK(std::chrono::steady_clock::now() - start < 1s);
  CHECK(result.interrupted);
  CHECK(result.part.end_ns.has_value());
}

TEST_CASE("a second without a commit is an event with its length") {
  Bench bench;
  std::atomic<bool> slow{true};
  bench.workload.step = [&](int, int) { return take(slow.exchange(false) ? 220ms : 1000us); };
  bench.run(quick(1, 400));
  std::int64_t longest_ns = 0;
  for (const Event& event : bench.record.events()) {
    CHECK(event.kind == "stall");
    longest_ns = std::max(longest_ns, event.length_ns);
  }
  CHECK(longest_ns >= 150 * kMs);
  CHECK(longest_ns < 400 * kMs);
}

TEST_CASE("hooks see the start, each interval and progress") {
  Bench bench;
  bench.workload.step = [](int, int) { return take(1ms); };
  OltpHooks hooks;
  std::int64_t last_ns = -1;
  int ticks = 0;
  int measured = 0;
  int reports = 0;
  hooks.on_start = [&](const Part& part, std::int64_t now_ns) {
    CHECK(part.kind == "oltp");
    last_ns = now_ns;
  };
  hooks.on_tick = [&](const Part&, const OltpTick& tick) {
    CHECK(tick.start_ns == last_ns);
    CHECK(tick.end_ns > tick.start_ns);
    last_ns = tick.end_ns;
    ++ticks;
    measured += tick.measured ? 1 : 0;
  };
  hooks.progress = [&](const Progress& progress) {
    CHECK(progress.unit == "TPS");
    CHECK(progress.rate_per_s > 0);
    ++reports;
  };
  OltpSpec spec = quick(1, 200);
  spec.warmup_ns = 100 * kMs;
  bench.run(spec, hooks);
  CHECK(ticks == 6);
  CHECK(measured == 4);
  CHECK(reports == ticks);
}

TEST_CASE("specifications out of range name the option") {
  Bench bench;
  OltpSpec spec = quick(0);
  CHECK_THROWS_WITH(bench.run(spec), ContainsSubstring("--threads"));
  spec = quick(1, 0);
  CHECK_THROWS_WITH(bench.run(spec), ContainsSubstring("--time"));
  CHECK(bench.record.parts().empty());
}

TEST_CASE("all workloads run on SQLite with several terminals and nothing fails", "[slow]") {
  lab::TempDir dir;
  const auto database = open_database("sqlite:" + dir.free_path("db").string());
  SysbenchOptions options;
  options.tables = 2;
  options.table_size = 5'000;
  fill_sysbench(*database, options, {});
  for (const SysbenchRow& row : sysbench_rows()) {
    INFO(row.name);
    Record record = Record::create(dir.free_path("run"), RunSpec{});
    const auto workload = make_sysbench(row, options, database->engine());
    const OltpResult result =
        run_oltp(*database, *workload, quick(4, 400), record, std::string(row.name), {});
    CHECK(result.part.facts["committed"].get<std::uint64_t>() > 20);
    CHECK(result.part.facts["failed"] == 0);
  }
  const auto session = database->connect();
  execute_or_throw(*session, "PRAGMA integrity_check");
  CHECK(session->rows().at(0, 0) == DbView(std::string_view("ok")));
}

TEST_CASE("a drive that fills up during a run ends it with the words, the record kept", "[slow]") {
  lab::TempDir dir;
  const auto drive = dir.free_path("drive");
  std::filesystem::create_directory(drive);
  if (mount("tmpfs", drive.c_str(), "tmpfs", 0, "size=8m") != 0) {
    return lab::skip("no right to mount");
  }
  {
    const auto database = open_database("sqlite:" + (drive / "db").string());
    SysbenchOptions options;
    options.table_size = 5'000;
    fill_sysbench(*database, options, {});
    const auto workload = make_sysbench(sysbench_row("oltp_insert"), options, "sqlite");
    Record record = Record::create(dir.free_path("run"), RunSpec{});
    CHECK_THROWS_WITH(run_oltp(*database, *workload, quick(2, 60'000), record, "part", {}),
                      ContainsSubstring("free some space"));
    CHECK(record.total(record.parts().at(0), "oltp", "").count > 1000);
  }
  umount2(drive.c_str(), MNT_DETACH);
}

}  // namespace plimsoll
