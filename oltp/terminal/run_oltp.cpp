#include "oltp/terminal/run_oltp.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "oltp/terminal/database_series.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "results/measure/interval_series.h"

namespace plimsoll {
namespace {

struct CpuTime {
  double user_s;
  double system_s;
};

// Of the whole process: with an embedded database, the database's too.
CpuTime cpu_time() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

std::string_view arrivals_name(const OltpSpec& spec) {
  if (!spec.rate_per_s) return "closed";
  return spec.arrivals == ArrivalKind::kConstant ? "constant" : "poisson";
}

Arrivals make_arrivals(const OltpSpec& spec, std::int64_t start_ns) {
  if (!spec.rate_per_s) return Arrivals::closed();
  if (spec.arrivals == ArrivalKind::kConstant) {
    return Arrivals::constant(*spec.rate_per_s, start_ns);
  }
  return Arrivals::poisson(*spec.rate_per_s, start_ns, mix_seed(spec.seed, ~0ULL));
}

Json part_spec(const Workload& workload, const OltpSpec& spec) {
  Json json = workload.spec();
  json["threads"] = spec.threads;
  json["warmup_ns"] = spec.warmup_ns;
  json["time_ns"] = spec.time_ns;
  json["arrivals"] = arrivals_name(spec);
  json["rate"] = spec.rate_per_s ? Json(*spec.rate_per_s) : Json();
  json["interval_ns"] = spec.interval_ns;
  json["retry_limit"] = spec.retry.limit;
  json["on_outage"] = spec.on_outage == OnOutage::kEnd ? "end" : "continue";
  return json;
}

// Waits on the terminals' threads, each interval, the stop.
class Finish {
 public:
  explicit Finish(int running) : running_(running) {}
  void one_ended() {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) changed_.notify_all();
  }
  bool all_ended() {
    const std::lock_guard lock(mutex_);
    return running_ == 0;
  }
  // Until `deadline_ns`, all have ended, or `stop` (one that was requested before is not waited
  // on).
  void wait_until(std::int64_t deadline_ns, const std::stop_token& stop) {
    const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline_ns)};
    std::unique_lock lock(mutex_);
    const auto ended = [this] { return running_ == 0; };
    if (stop.stop_requested()) {
      changed_.wait_until(lock, until, ended);
    } else {
      changed_.wait_until(lock, stop, until, ended);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int running_;
};

// All of one run; made after its set-up can't fail any more.
class Run {
 public:
  Run(const Workload& workload, const OltpSpec& spec, Record& record, const OltpHooks& hooks,
      std::vector<std::unique_ptr<Terminal>>& terminals, TerminalShared& shared,
      std::unique_ptr<DbProbe> probe, std::int64_t start_ns)
      : workload_(workload),
        spec_(spec),
        record_(record),
        hooks_(hooks),
        terminals_(terminals),
        shared_(shared),
        start_ns_(start_ns),
        measured_from_ns_(start_ns + spec.warmup_ns),
        series_(start_ns,
                [this](const IntervalSample& s) { record_.add_interval(part_, "oltp", s); }),
        finish_(spec.threads),
        database_series_(std::move(probe), shared.clock) {
    const auto& names = workload.transactions();
    for (const auto& terminal : terminals) {
      for (std::size_t type = 0; type < names.size(); ++type) {
        series_.watch(names[type], terminal->recorder(type));
      }
    }
  }

  OltpResult run(const std::string& part_name);

 private:
  void run_terminals();
  void control();
  std::int64_t next_tick_ns() const;
  void tick(std::int64_t now_ns);
  void begin_measured(std::int64_t now_ns);
  void stop(std::int64_t now_ns);
  void report(std::int64_t now_ns);
  void watch_progress(const OltpTick& ended);
  void record_outages(bool all);
  Json facts() const;
  Json client_cpu() const;
  void warn(const Json& facts);

  const Workload& workload_;
  const OltpSpec& spec_;
  Record& record_;
  const OltpHooks& hooks_;
  std::vector<std::unique_ptr<Terminal>>& terminals_;
  TerminalShared& shared_;
  const std::int64_t start_ns_;
  std::int64_t measured_from_ns_;  // as planned, then as it was
  Part part_;
  IntervalSeries series_;
  Finish finish_;
  DatabaseSeries database_series_;
  bool measuring_ = false;
  bool interrupted_ = false;
  std::int64_t last_tick_ns_ = 0;
  std::int64_t stalled_since_ns_ = -1;
  std::uint64_t repeats_ = 0;
  std::uint64_t unstarted_ = 0;
  int reconnects_ = 0;
  CpuTime cpu_start_ = {};
  CpuTime cpu_end_ = {};
};

OltpResult Run::run(const std::string& part_name) {
  part_ = record_.begin_part(part_name, "oltp", part_spec(workload_, spec_), start_ns_);
  last_tick_ns_ = start_ns_;
  cpu_start_ = cpu_time();
  if (hooks_.on_start) hooks_.on_start(part_, start_ns_);
  if (spec_.warmup_ns == 0) begin_measured(start_ns_);
  run_terminals();
  tick(shared_.clock.now_ns());
  cpu_end_ = cpu_time();
  unstarted_ = shared_.queue.count_unstarted();
  part_.facts = facts();
  part_.end_ns = last_tick_ns_;
  record_.end_part(part_, last_tick_ns_, part_.facts);
  warn(part_.facts);
  record_.commit();
  return {part_, interrupted_};
}

void Run::run_terminals() {
  std::vector<std::jthread> threads;
  for (const auto& terminal : terminals_) {
    threads.emplace_back([this, &terminal] {
      terminal->run();
      finish_.one_ended();
    });
  }
  try {
    control();
  } catch (...) {  // the record can't be written; the threads are joined on the way out
    shared_.queue.end_at(shared_.clock.now_ns());
    throw;
  }
}

// Ticks until all terminals have ended. The tick at the deadline is left to the end of the drain.
void Run::control() {
  while (!finish_.all_ended()) {
    const std::int64_t until_ns = next_tick_ns();
    finish_.wait_until(until_ns, hooks_.stop);
    const std::int64_t now_ns = shared_.clock.now_ns();
    if (hooks_.stop.stop_requested() && !interrupted_) stop(now_ns);
    if (now_ns < until_ns || finish_.all_ended()) continue;
    tick(now_ns);
    if (!measuring_ && now_ns >= measured_from_ns_) begin_measured(now_ns);
  }
}

std::int64_t Run::next_tick_ns() const {
  const std::int64_t origin_ns = measuring_ ? measured_from_ns_ : start_ns_;
  const std::int64_t ticks = (last_tick_ns_ - origin_ns) / spec_.interval_ns + 1;
  const std::int64_t next_ns = origin_ns + ticks * spec_.interval_ns;
  if (!measuring_) return std::min(next_ns, measured_from_ns_);
  return next_ns == shared_.queue.deadline_ns() ? next_ns + spec_.interval_ns : next_ns;
}

void Run::tick(std::int64_t now_ns) {
  const OltpTick ended{last_tick_ns_, now_ns, measuring_};
  series_.tick(now_ns);
  last_tick_ns_ = now_ns;
  const std::uint64_t repeats = shared_.repeats.load(std::memory_order_relaxed);
  record_.add_point(part_, "oltp", "repeats", now_ns, static_cast<double>(repeats - repeats_));
  repeats_ = repeats;
  if (spec_.rate_per_s) {
    record_.add_point(part_, "oltp", "overdue_ns", now_ns,
                      static_cast<double>(shared_.queue.overdue_ns(now_ns)));
  }
  watch_progress(ended);
  record_outages(finish_.all_ended());
  database_series_.drain(record_, part_);
  if (hooks_.on_tick) hooks_.on_tick(part_, ended);
  record_.commit();
  report(now_ns);
}

// The measured part has its whole length, however late the tick that begins it.
void Run::begin_measured(std::int64_t now_ns) {
  measured_from_ns_ = now_ns;
  shared_.queue.end_at(now_ns + spec_.time_ns);
  series_.begin_measured();
  shared_.measuring = true;
  measuring_ = true;
  cpu_start_ = cpu_time();
}

void Run::stop(std::int64_t now_ns) {
  interrupted_ = true;
  shared_.queue.end_at(now_ns);
}

// Terminals that work and commit nothing for a whole interval are a stall, named when it ends.
void Run::watch_progress(const OltpTick& ended) {
  const bool working = !spec_.rate_per_s || shared_.queue.overdue_ns(ended.end_ns) > 0;
  const bool stalled = working && series_.last().count() == 0 &&
                       ended.end_ns - ended.start_ns >= spec_.interval_ns / 2;
  if (stalled && stalled_since_ns_ < 0) stalled_since_ns_ = ended.start_ns;
  const bool over = !stalled || finish_.all_ended();
  if (stalled_since_ns_ < 0 || !over) return;
  const std::int64_t until_ns = stalled ? ended.end_ns : ended.start_ns;
  record_.add_event({stalled_since_ns_, until_ns - stalled_since_ns_, "stall",
                     fmt::format("no transaction was committed for {}",
                                 format_duration(until_ns - stalled_since_ns_))});
  stalled_since_ns_ = -1;
}

void Run::record_outages(bool all) {
  for (const Outage& outage : shared_.take_outages(all)) {
    if (measuring_) reconnects_ += outage.sessions;
    const std::int64_t end_ns = outage.end_ns != 0 ? outage.end_ns : last_tick_ns_;
    record_.add_event(
        {outage.start_ns, end_ns - outage.start_ns, "outage",
         fmt::format("{} of {} sessions were lost{}: {}", outage.sessions, spec_.threads,
                     outage.end_ns != 0 ? "" : " and did not come back", outage.error.message)});
  }
}

void Run::report(std::int64_t now_ns) {
  if (!hooks_.progress) return;
  const std::int64_t total_ns = spec_.warmup_ns + spec_.time_ns;
  Progress progress;
  progress.phase = measuring_ ? part_.name : part_.name + " warm-up";
  progress.unit = "TPS";
  progress.fraction =
      std::min(1.0, static_cast<double>(now_ns - start_ns_) / static_cast<double>(total_ns));
  progress.left_ns = std::max<std::int64_t>(0, start_ns_ + total_ns - now_ns);
  if (series_.last_seconds() > 0) {
    progress.rate_per_s = static_cast<double>(series_.last().count()) / series_.last_seconds();
  }
  if (series_.last().count() > 0) progress.p99_ns = series_.last().response.percentile(99);
  if (!measuring_ && now_ns < measured_from_ns_) {
    progress.note = fmt::format("warm-up ends in {}", format_duration(measured_from_ns_ - now_ns));
  }
  hooks_.progress(progress);
}

Json tally_json(const OpTotals* totals, const Tally& tally) {
  return {{"committed", totals == nullptr ? 0 : totals->count()},
          {"user_rollbacks", tally.user_rollbacks},
          {"retried", tally.retried},
          {"failed", totals == nullptr ? 0 : totals->errors},
          {"errors", tally.errors.empty() ? Json::object() : Json(tally.errors)},
          {"retries", tally.retries.empty() ? Json::object() : Json(tally.retries)},
          {"retrying_s", static_cast<double>(tally.retrying_ns) * 1e-9}};
}

// Counts of committed and failed are those of the recorded intervals.
Json Run::facts() const {
  const double measured_s =
      measuring_ ? static_cast<double>(last_tick_ns_ - series_.measured_start_ns()) * 1e-9 : 0;
  OpTotals all_totals;
  Tally all;
  Json transactions = Json::object();
  for (std::size_t type = 0; type < workload_.transactions().size(); ++type) {
    const std::string& name = workload_.transactions()[type];
    Tally tally;
    for (const auto& terminal : terminals_) tally.merge(terminal->measured(type));
    const auto totals = series_.totals().find(name);
    const bool found = totals != series_.totals().end();
    if (found) all_totals.merge(totals->second);
    all.merge(tally);
    transactions[name] = tally_json(found ? &totals->second : nullptr, tally);
  }
  Json facts = {
      {"threads", spec_.threads},
      {"arrivals", arrivals_name(spec_)},
      {"asked_rate", spec_.rate_per_s ? Json(*spec_.rate_per_s) : Json()},
      {"achieved_rate",
       measured_s > 0 ? Json(static_cast<double>(all_totals.count()) / measured_s) : Json()},
      {"distribution", workload_.distribution()}};
  facts.update(tally_json(&all_totals, all));
  facts["reconnects"] = reconnects_;
  facts["unstarted"] = spec_.rate_per_s ? Json(unstarted_) : Json();
  facts["client_cpu"] = client_cpu();
  facts["transactions"] = std::move(transactions);
  return facts;
}

Json Run::client_cpu() const {
  if (!measuring_) return Json();
  return {{"user_s", cpu_end_.user_s - cpu_start_.user_s},
          {"system_s", cpu_end_.system_s - cpu_start_.system_s}};
}

void Run::warn(const Json& facts) {
  if (const std::uint64_t failed = facts["failed"]; failed > 0) {
    record_.warn({"errors", fmt::format("{} transactions failed: {}", format_thousands(failed),
                                        facts["errors"].dump())});
  }
  if (unstarted_ > 0 && !interrupted_) {
    record_.warn({"behind-schedule",
                  fmt::format("{} arrivals of {}/s asked were never started: all {} terminals were "
                              "busy",
                              format_thousands(unstarted_), *spec_.rate_per_s, spec_.threads)});
  }
}

}  // namespace

void check_spec(const OltpSpec& spec) {
  if (spec.threads < 1 || spec.threads > 10'000) {
    throw UsageError(fmt::format("--threads {} is out of range; give 1 to 10000", spec.threads));
  }
  if (spec.time_ns <= 0) throw UsageError("--time must be more than 0; give one such as 30s");
  if (spec.interval_ns < 10'000'000) {
    throw UsageError("--report-interval must be at least 10ms; give one such as 1s");
  }
}

OltpResult run_oltp(Database& database, const Workload& workload, const OltpSpec& spec,
                    Record& record, const std::string& part_name, const OltpHooks& hooks) {
  check_spec(spec);
  SystemClock& clock = SystemClock::instance();
  TerminalShared shared(clock, spec.retry, spec.on_outage);
  std::vector<std::unique_ptr<Terminal>> terminals;
  for (int i = 0; i < spec.threads; ++i) {
    terminals.push_back(
        std::make_unique<Terminal>(shared, workload, database.connect(), i, spec.seed));
  }
  auto probe = database.probe();
  // Everything that takes time to set up is done before the clock starts.
  const std::int64_t start_ns = clock.now_ns();
  shared.queue.open(make_arrivals(spec, start_ns));
  Run run(workload, spec, record, hooks, terminals, shared, std::move(probe), start_ns);
  OltpResult result = run.run(part_name);
  if (const auto error = shared.broken_by()) {
    throw BrokenError(fmt::format(
        "the run broke: {} ({}){}; what was measured is in the record", error->message, error->code,
        error->no_space ? ": free some space on the database's drive" : ""));
  }
  return result;
}

}  // namespace plimsoll
