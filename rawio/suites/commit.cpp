#include "rawio/suites/commit.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>

#include "results/base/error.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

CommitLog::Place commit_place(const CommitPlan& plan, const TargetShape& target) {
  const std::uint64_t rest = target.size_bytes - plan.span_offset_bytes;
  return {plan.span_offset_bytes, plan.span_bytes ? plan.span_bytes : rest, plan.record_bytes};
}

// The threads of one cell: they start together, and end when told or at the first failure.
class Committers {
 public:
  Committers(CommitLog& log, std::uint32_t count, std::uint32_t buffer_bytes, std::uint64_t seed)
      : log_(log) {
    for (std::uint32_t i = 0; i < count; ++i) {
      committers_.push_back(std::make_unique<Committer>(buffer_bytes, seed + i));
    }
  }
  ~Committers() { join(); }
  Committers(const Committers&) = delete;
  Committers& operator=(const Committers&) = delete;

  void watch(IntervalSeries& series, bool flushes) {
    for (const auto& committer : committers_) {
      series.watch("commit", committer->commits());
      series.watch("write", committer->writes());
      if (flushes) series.watch("flush", committer->flushes());
    }
  }
  void start() {
    for (const auto& committer : committers_) {
      threads_.emplace_back([this, &committer] { run(*committer); });
    }
  }
  void join() {
    stop_.store(true);
    threads_.clear();
  }
  int error() const { return error_.load(); }

 private:
  void run(Committer& committer) {
    while (!stop_.load(std::memory_order_relaxed)) {
      const int error = log_.commit(committer);
      if (error == 0) continue;
      int none = 0;
      error_.compare_exchange_strong(none, error);
      stop_.store(true);
    }
  }

  CommitLog& log_;
  std::vector<std::unique_ptr<Committer>> committers_;
  std::atomic<bool> stop_{false};
  std::atomic<int> error_{0};
  std::vector<std::jthread> threads_;
};

Json commit_spec(const CommitPlan& plan, const CommitCell& cell) {
  return {{"method", commit_method_name(cell.method)},
          {"committers", cell.committers},
          {"grouped", cell.grouped},
          {"record_bytes", plan.record_bytes},
          {"span_offset_bytes", plan.span_offset_bytes},
          {"span_bytes", plan.span_bytes},
          {"warm_up_ns", plan.warm_up_ns},
          {"runtime_ns", plan.runtime_ns},
          {"seed", plan.seed}};
}

// Ticks until the cell's end; short steps, so that a stop or a failure is seen soon.
class CommitClock {
 public:
  CommitClock(const CommitPlan& plan, const RunHooks& hooks, Record& record, const Part& part)
      : plan_(plan),
        hooks_(hooks),
        record_(record),
        part_(part),
        start_ns_(SystemClock::instance().now_ns()),
        series_(start_ns_, [this](const IntervalSample& sample) {
          record_.add_interval(part_, "raw", sample);
        }) {}

  IntervalSeries& series() { return series_; }

  // The measured part has its whole length also when this thread is woken late.
  void run(Committers& committers) {
    // Without a warm-up at once: a drive may fail the first commits before the loop's first turn.
    std::int64_t end_ns = plan_.warm_up_ns == 0 ? begin_measured() : INT64_MAX;
    std::int64_t next_ns =
        std::min(end_ns, start_ns_ + (measured_ ? plan_.interval_ns : plan_.warm_up_ns));
    while (committers.error() == 0 && !hooks_.stop.stop_requested()) {
      const std::int64_t now_ns = wait_to(next_ns);
      if (now_ns < next_ns) continue;
      if (now_ns >= end_ns) break;
      tick(now_ns);
      if (!measured_) end_ns = begin_measured();
      next_ns = std::min(end_ns, now_ns + plan_.interval_ns);
    }
    committers.join();
    tick(SystemClock::instance().now_ns());
  }
  double measured_s() const {
    return measured_ ? static_cast<double>(last_ns_ - series_.measured_start_ns()) / kSecond_ns : 0;
  }

 private:
  static constexpr std::int64_t kStep_ns = 50'000'000;

  static std::int64_t wait_to(std::int64_t next_ns) {
    const std::int64_t now_ns = SystemClock::instance().now_ns();
    SystemClock::instance().sleep_until_ns(std::min(next_ns, now_ns + kStep_ns));
    return SystemClock::instance().now_ns();
  }
  // Returns when it ends.
  std::int64_t begin_measured() {
    series_.begin_measured();
    measured_ = true;
    return series_.measured_start_ns() + plan_.runtime_ns;
  }
  void tick(std::int64_t now_ns) {
    series_.tick(now_ns);
    last_ns_ = now_ns;
    if (hooks_.on_tick) hooks_.on_tick(part_, now_ns, measured_);
    record_.commit();
    if (!hooks_.progress) return;
    Progress progress;
    progress.phase = part_.name;
    progress.fraction = static_cast<double>(now_ns - start_ns_) /
                        static_cast<double>(plan_.warm_up_ns + plan_.runtime_ns);
    hooks_.progress(progress);
  }

  const CommitPlan& plan_;
  const RunHooks& hooks_;
  Record& record_;
  const Part& part_;
  const std::int64_t start_ns_;
  IntervalSeries series_;
  bool measured_ = false;
  std::int64_t last_ns_ = 0;
};

Json commit_facts(const CommitResult& result, const CommitPlan& plan, const CommitCell& cell,
                  const std::string& target) {
  const auto count = [&](const char* operation) {
    const auto found = result.totals.find(operation);
    return found == result.totals.end() ? 0.0 : static_cast<double>(found->second.count());
  };
  Json facts = commit_spec(plan, cell);
  facts["measured_s"] = result.measured_s;
  facts["targets"] = Json::array({target});
  facts["commits_per_write"] = count("write") > 0 ? Json(count("commit") / count("write")) : Json();
  return facts;
}

}  // namespace

std::vector<CommitCell> commit_cells(const std::vector<CommitMethod>& methods,
                                     const std::vector<std::uint32_t>& committers,
                                     const std::vector<bool>& grouped) {
  std::vector<CommitCell> cells;
  for (const bool group : grouped) {
    for (const auto count : committers) {
      for (const auto method : methods) cells.push_back({method, count, group});
    }
  }
  return cells;
}

std::string describe(const CommitCell& cell) {
  return fmt::format("{} x{}{}", commit_method_name(cell.method), cell.committers,
                     cell.grouped ? " grouped" : "");
}

void check_commit(const CommitPlan& plan, const TargetShape& target) {
  if (plan.record_bytes == 0 || plan.record_bytes % target.logical_block_bytes != 0) {
    throw UsageError(fmt::format("a record of {} bytes is no multiple of the {}-byte sectors of {}",
                                 plan.record_bytes, target.logical_block_bytes, target.name));
  }
  if (plan.span_offset_bytes % target.logical_block_bytes != 0 ||
      plan.span_offset_bytes >= target.size_bytes ||
      plan.span_bytes > target.size_bytes - plan.span_offset_bytes) {
    throw UsageError(
        fmt::format("the log would end beyond {}: lower --size or --offset", target.name));
  }
  if (plan.runtime_ns <= 0 || plan.warm_up_ns < 0) throw UsageError("--time must be over 0");
  const auto place = commit_place(plan, target);
  for (const auto& cell : plan.cells) {
    if (cell.committers == 0 || cell.committers > 1024) {
      throw UsageError(fmt::format("{} committers: it takes 1 to 1024", cell.committers));
    }
    if (2ull * cell.committers * plan.record_bytes <= place.span_bytes) continue;
    throw UsageError(fmt::format("a log of {} is too small for {} committers: raise --size",
                                 format_size(place.span_bytes), cell.committers));
  }
}

CommitResult run_commit(const CommitPlan& plan, const CommitCell& cell, RawTarget& target,
                        Record& record, const RunHooks& hooks) {
  const auto place = commit_place(plan, target.shape());
  CommitLog log(target, place, cell.method, cell.grouped);
  Committers committers(log, cell.committers,
                        CommitLog::buffer_bytes(place, cell.grouped, cell.committers), plan.seed);
  CommitResult result;
  result.part = record.begin_part("commit " + describe(cell), "raw", commit_spec(plan, cell),
                                  SystemClock::instance().now_ns());
  record.commit();
  if (hooks.on_begin) hooks.on_begin(result.part, SystemClock::instance().now_ns());
  CommitClock clock(plan, hooks, record, result.part);
  committers.watch(clock.series(),
                   cell.method == CommitMethod::kFsync || cell.method == CommitMethod::kFdatasync);
  committers.start();
  clock.run(committers);

  result.totals = clock.series().totals();
  result.measured_s = clock.measured_s();
  result.error_code = committers.error();
  result.failed_offset = log.failed_offset();
  result.interrupted = hooks.stop.stop_requested();
  result.part.facts = commit_facts(result, plan, cell, target.shape().name);
  record.end_part(result.part, SystemClock::instance().now_ns(), result.part.facts);
  record.commit();
  return result;
}

}  // namespace plimsoll
