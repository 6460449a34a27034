#include "rawio/workload/run_raw.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <set>

#include "rawio/workload/job_threads.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

std::vector<std::unique_ptr<IoJob>> make_jobs(const IoWorkload& workload,
                                              std::span<RawTarget* const> targets) {
  std::vector<std::unique_ptr<IoJob>> jobs;
  Random seeds(workload.seed);
  const auto run_mark = static_cast<std::uint64_t>(SystemClock::instance().wall_ns());
  for (const auto& stream : workload.streams) {
    const std::uint64_t size_bytes = targets[stream.target]->shape().size_bytes;
    const std::uint64_t stream_seed = seeds.next();
    for (std::uint32_t job = 0; job < stream.jobs; ++job) {
      const auto thread = static_cast<std::uint32_t>(jobs.size());
      jobs.push_back(std::make_unique<IoJob>(workload, stream, piece_of(stream, job, size_bytes),
                                             JobSeat{job, stream_seed, thread, run_mark},
                                             seeds.next()));
    }
  }
  return jobs;
}

// As IoJob::open wants them.
std::vector<int> files_of(const IoWorkload& workload, std::span<RawTarget* const> targets) {
  std::vector<int> files;
  for (const auto* target : targets) files.push_back(target->fd());
  const bool durable =
      std::any_of(workload.streams.begin(), workload.streams.end(),
                  [](const auto& stream) { return stream.write_sync == WriteSync::kOpened; });
  if (!durable) return files;
  for (auto* target : targets) files.push_back(target->durable_fd());
  return files;
}

std::uint64_t budget_of_job(const IoWorkload& workload, std::size_t jobs) {
  return workload.bytes == 0 ? UINT64_MAX : (workload.bytes + jobs - 1) / jobs;
}

JobSchedule make_schedule(const IoWorkload& workload, std::size_t jobs, std::int64_t start_ns) {
  const std::int64_t measured_ns = start_ns + workload.warm_up_ns;
  return {start_ns, measured_ns,
          workload.runtime_ns == 0 ? INT64_MAX : measured_ns + workload.runtime_ns,
          budget_of_job(workload, jobs)};
}

std::optional<double> asked_rate(const IoWorkload& workload) {
  double rate_per_s = 0;
  for (const auto& stream : workload.streams) {
    if (stream.arrivals != ArrivalKind::kClosed) rate_per_s += stream.rate_per_s;
  }
  return rate_per_s > 0 ? std::optional(rate_per_s) : std::nullopt;
}

// The calling thread's part of a run: ticks, progress, hooks.
class Conductor {
 public:
  Conductor(const IoWorkload& workload, Record& record, const Part& part, const RunHooks& hooks,
            JobThreads& threads, const JobSchedule& schedule)
      : workload_(workload),
        record_(record),
        part_(part),
        hooks_(hooks),
        threads_(threads),
        schedule_(schedule),
        series_(schedule.start_ns, [this](const IntervalSample& sample) { store(sample); }) {
    for (const auto& job : threads.jobs()) job->watch(series_);
  }

  // Until the last job has drained.
  void conduct() {
    std::int64_t next_ns = next_tick_ns(schedule_.start_ns);
    if (workload_.warm_up_ns == 0) begin_measured();
    while (!threads_.wait_until(next_ns, hooks_.stop)) {
      if (hooks_.stop.stop_requested()) threads_.stop();
      const std::int64_t now_ns = SystemClock::instance().now_ns();
      if (now_ns < next_ns) continue;
      tick(now_ns);
      if (!measured_ && now_ns >= schedule_.measured_from_ns) begin_measured();
      next_ns = next_tick_ns(now_ns);
    }
    tick(SystemClock::instance().now_ns());
  }

  const IntervalSeries& series() const { return series_; }
  std::uint64_t errors() const { return errors_; }
  std::uint64_t total_count() const { return total_count_; }
  double measured_s() const {
    return measured_ ? static_cast<double>(last_tick_ns_ - series_.measured_start_ns()) / kSecond_ns
                     : 0;
  }

 private:
  // On the grid of intervals that starts with the measured part, so that warm-up ends on a tick.
  // The tick at the end waits for the drain instead, up to half an interval.
  std::int64_t next_tick_ns(std::int64_t after_ns) const {
    const std::int64_t origin_ns = schedule_.measured_from_ns;
    const std::int64_t interval_ns = workload_.interval_ns;
    std::int64_t steps = (after_ns - origin_ns) / interval_ns;
    if (after_ns >= origin_ns) ++steps;
    const std::int64_t tick_ns = origin_ns + steps * interval_ns;
    return tick_ns == schedule_.end_ns ? tick_ns + interval_ns / 2 : tick_ns;
  }

  void begin_measured() {
    series_.begin_measured();
    measured_ = true;
  }

  void store(const IntervalSample& sample) {
    errors_ += sample.totals.errors;
    if (sample.operation != "flush") total_count_ += sample.totals.count();
    record_.add_interval(part_, "raw", sample);
  }

  void tick(std::int64_t now_ns) {
    series_.tick(now_ns);
    last_tick_ns_ = now_ns;
    if (hooks_.on_tick) hooks_.on_tick(part_, now_ns, measured_);
    record_.commit();
    if (hooks_.progress) hooks_.progress(progress(now_ns));
  }

  Progress progress(std::int64_t now_ns) const {
    Progress progress;
    progress.phase = measured_ ? part_.name : "warm-up";
    if (series_.last_seconds() > 0) {
      progress.rate_per_s = static_cast<double>(series_.last().count()) / series_.last_seconds();
    }
    if (series_.last().count() > 0) progress.p99_ns = series_.last().response.percentile(99);
    if (schedule_.end_ns != INT64_MAX) {
      progress.left_ns = std::max<std::int64_t>(0, schedule_.end_ns - now_ns);
      progress.fraction = 1 - static_cast<double>(progress.left_ns) /
                                  static_cast<double>(schedule_.end_ns - schedule_.start_ns);
    } else {
      const auto asked = static_cast<double>(threads_.asked_bytes());
      progress.fraction = std::min(1.0, asked / static_cast<double>(workload_.bytes));
    }
    return progress;
  }

  const IoWorkload& workload_;
  Record& record_;
  const Part& part_;
  const RunHooks& hooks_;
  JobThreads& threads_;
  const JobSchedule schedule_;
  IntervalSeries series_;
  std::int64_t last_tick_ns_ = 0;
  bool measured_ = false;
  std::uint64_t errors_ = 0;
  std::uint64_t total_count_ = 0;
};

// What the jobs know, together.
struct JobsTogether {
  Histogram lateness;
  std::uint64_t backlog = 0;
  std::set<std::string> shortfalls;
};

JobsTogether gather(const JobThreads& threads, RawResult& result) {
  JobsTogether together;
  for (const auto& job : threads.jobs()) {
    const JobOutcome& outcome = job->outcome();
    result.cpu_user_s += outcome.cpu_user_s;
    result.cpu_system_s += outcome.cpu_system_s;
    if (!result.failure) result.failure = outcome.failure;
    together.lateness.merge(outcome.lateness);
    together.backlog += outcome.backlog;
    together.shortfalls.insert(outcome.shortfalls.begin(), outcome.shortfalls.end());
  }
  return together;
}

// Nothing when no stream asks for it, or the user wants an end.
std::optional<Verification> verify(const JobThreads& threads, std::span<RawTarget* const> targets,
                                   const RunHooks& hooks) {
  std::optional<Verification> sum;
  for (const auto& job : threads.jobs()) {
    if (job->written() == nullptr || hooks.stop.stop_requested()) continue;
    const std::uint32_t target = job->stream().target;
    if (!sum) sum.emplace();
    sum->merge(
        verify_written(*job->written(), targets[target]->fd(), target, hooks.stop, hooks.progress));
  }
  return sum;
}

// A check of the record, and the verdict where it doesn't hold.
void conclude_verification(const Verification& sum, std::span<RawTarget* const> targets,
                           Record& record) {
  Check check{1, "what was written is there", sum.corrupt == 0, Json::array()};
  if (sum.first) {
    const auto text = fmt::format("{} of {} blocks of {} are corrupt; the first: {}",
                                  format_thousands(sum.corrupt), format_thousands(sum.units),
                                  targets[*sum.target]->shape().name, describe(*sum.first));
    check.rows.push_back({{"target", targets[*sum.target]->shape().name},
                          {"offset", sum.first->offset},
                          {"text", describe(*sum.first)}});
    record.set_verdict({"fail", text});
  } else {
    record.set_verdict({"pass", fmt::format("all {} blocks that were written and looked for are "
                                            "there",
                                            format_thousands(sum.units))});
  }
  record.add_check(check);
}

Json to_json(const Verification& sum) {
  return {{"blocks", sum.units},
          {"bytes", sum.bytes},
          {"corrupt", sum.corrupt},
          {"first", sum.first ? Json(describe(*sum.first)) : Json()}};
}

// Of each stream the share of its span's regions that its jobs reached.
Json touched_of(const IoWorkload& workload, const JobThreads& threads) {
  Json shares = Json::array();
  for (const auto& stream : workload.streams) {
    std::uint64_t touched = 0;
    std::uint64_t regions = 0;
    std::optional<SpanMap> shared;  // of random jobs, which all have the whole span
    for (const auto& job : threads.jobs()) {
      if (&job->stream() != &stream) continue;
      if (!stream.own_pieces()) {
        if (shared) shared->merge(job->touched());
        if (!shared) shared = job->touched();
      } else {
        touched += job->touched().touched();
        regions += job->touched().regions();
      }
    }
    if (shared) touched = shared->touched(), regions = shared->regions();
    shares.push_back(static_cast<double>(touched) / static_cast<double>(regions));
  }
  return shares;
}

Json facts_of(const IoWorkload& workload, std::span<RawTarget* const> targets,
              const RawResult& result, const JobsTogether& together, const Json& touched) {
  Json names = Json::array();
  Json sizes = Json::array();
  Json folders = Json::array();
  for (const auto* target : targets) {
    names.push_back(target->shape().name);
    sizes.push_back(target->shape().size_bytes);
    folders.push_back(target->in_folder());
  }
  const auto known = [](const auto& value) { return value ? Json(*value) : Json(); };
  const bool open_loop = result.asked_rate_per_s.has_value();
  return {{"engine", workload.engine},
          {"targets", names},
          {"target_bytes", sizes},
          {"target_folders", folders},
          {"asked_rate", known(result.asked_rate_per_s)},
          {"achieved_rate", known(result.achieved_rate_per_s)},
          {"measured_s", result.measured_s},
          {"cpu", {{"user_s", result.cpu_user_s}, {"system_s", result.cpu_system_s}}},
          {"lateness_p99_ns",
           together.lateness.count() ? Json(together.lateness.percentile(99)) : Json()},
          {"lateness_max_ns", together.lateness.count() ? Json(together.lateness.max()) : Json()},
          {"backlog", open_loop ? Json(together.backlog) : Json()},
          {"touched", touched},
          {"verified", result.verification ? to_json(*result.verification) : Json()},
          {"failure", result.failure ? Json(describe(*result.failure, targets)) : Json()}};
}

// Of open loops: what they started in the measured part, over the time in which it was due. The
// drain after the end is no part of that time, and closed loops beside them are not meant.
double achieved_rate(const IoWorkload& workload, const RawResult& result,
                     const JobsTogether& together) {
  const bool to_the_end =
      workload.runtime_ns > 0 && workload.bytes == 0 && !result.interrupted && !result.failure;
  const double seconds =
      to_the_end ? static_cast<double>(workload.runtime_ns) / kSecond_ns : result.measured_s;
  return static_cast<double>(together.lateness.count()) / seconds;
}

void warn_of(const IoWorkload& workload, std::span<RawTarget* const> targets,
             const RawResult& result, const JobsTogether& together, Record& record) {
  for (const auto& shortfall : together.shortfalls) {
    record.warn({"facility-missing", workload.engine + ": " + shortfall});
  }
  if (result.errors > 0 && result.failure) {
    record.warn(
        {"errors",
         fmt::format("{} failed and {} in no latency and no rate; the first: {}",
                     result.errors == 1 ? "1 I/O" : format_thousands(result.errors) + " I/Os",
                     result.errors == 1 ? "is" : "are", describe(*result.failure, targets))});
  }
  if (result.asked_rate_per_s && !result.interrupted && !result.failure &&
      result.achieved_rate_per_s.value_or(0) < 0.99 * *result.asked_rate_per_s) {
    record.warn(
        {"behind-schedule", fmt::format("{} a second asked, {} done; {} were due and never started",
                                        format_count(*result.asked_rate_per_s),
                                        format_count(result.achieved_rate_per_s.value_or(0)),
                                        format_thousands(together.backlog))});
  }
}

}  // namespace

double RawResult::iops() const {
  std::uint64_t count = 0;
  for (const auto& [operation, total] : totals) {
    if (operation != "flush") count += total.count();
  }
  return measured_s > 0 ? static_cast<double>(count) / measured_s : 0;
}

RawResult run_raw(const IoWorkload& workload, std::span<RawTarget* const> targets, Record& record,
                  const RunHooks& hooks) {
  std::vector<TargetShape> shapes;
  for (const auto* target : targets) shapes.push_back(target->shape());
  check_workload(workload, shapes);

  JobThreads threads(make_jobs(workload, targets), files_of(workload, targets));
  threads.open();
  RawResult result;
  const std::string name =
      workload.name.empty() ? "raw " + describe(workload.streams.front()) : workload.name;
  result.part = record.begin_part(name, "raw", to_json(workload), SystemClock::instance().now_ns());
  record.commit();
  if (hooks.on_begin) hooks.on_begin(result.part, SystemClock::instance().now_ns());

  const auto schedule =
      make_schedule(workload, threads.jobs().size(), SystemClock::instance().now_ns());
  Conductor conductor(workload, record, result.part, hooks, threads, schedule);
  threads.start(schedule);
  conductor.conduct();

  result.totals = conductor.series().totals();
  result.measured_s = conductor.measured_s();
  result.errors = conductor.errors();
  result.total_count = conductor.total_count();
  result.interrupted = hooks.stop.stop_requested();
  result.asked_rate_per_s = asked_rate(workload);
  const JobsTogether together = gather(threads, result);
  if (result.measured_s > 0) {
    result.achieved_rate_per_s =
        result.asked_rate_per_s ? achieved_rate(workload, result, together) : result.iops();
  }
  result.verification = verify(threads, targets, hooks);
  if (result.verification) conclude_verification(*result.verification, targets, record);
  result.part.facts = facts_of(workload, targets, result, together, touched_of(workload, threads));
  warn_of(workload, targets, result, together, record);
  record.end_part(result.part, SystemClock::instance().now_ns(), result.part.facts);
  record.commit();
  return result;
}

std::string describe(const IoFailure& failure, std::span<RawTarget* const> targets) {
  const char* what = failure.error_code == ENODATA ? "it moved fewer bytes than asked"
                                                   : ::strerrordesc_np(failure.error_code);
  return fmt::format("{} of {} bytes at offset {} of {} failed: {} ({})",
                     operation_name(failure.operation), failure.length, failure.offset,
                     targets[failure.target]->shape().name, what ? what : "unknown error",
                     ::strerrorname_np(failure.error_code) ?: "?");
}

}  // namespace plimsoll
