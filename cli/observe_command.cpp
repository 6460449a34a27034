#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <sstream>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/target_warnings.h"
#include "rawio/device/observer.h"
#include "rawio/device/sysfs.h"
#include "rawio/device/system_sampler.h"
#include "results/base/units.h"
#include "results/measure/clock.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kObserveExamples =
    "Examples:\n"
    "  plimsoll observe /dev/nvme1n1               until Ctrl-C, beside whatever runs on it\n"
    "  plimsoll observe /var/lib/mysql --for 60s   the drives under a folder\n"
    "  plimsoll observe /dev/sdb --pid 4711        a database's I/O apart from the rest";

constexpr std::int64_t kTableEvery_ns = 10'000'000'000;

struct ObserveOptions {
  CommonOptions common;
  std::string target;
  std::int64_t for_ns = 0;  // 0: until interrupted
  std::int64_t interval_ns = 1'000'000'000;
  std::vector<int> processes;
};

std::string time_text(double ns) {
  return format_duration(static_cast<std::int64_t>(ns));
}

const Histogram* find_latency(const IntervalRow& row, const std::string& measure) {
  for (const auto& latency : row.latencies) {
    if (latency.measure == measure) return &latency.histogram;
  }
  return nullptr;
}

// Percentiles where the observer has them, else the mean; "-" for what isn't known.
std::string latency_columns(const IntervalRow& row) {
  const Histogram* driver = find_latency(row, "d2c");
  const Histogram* queue = find_latency(row, "q2c");
  const Histogram* shown = driver ? driver : queue;
  if (!shown) {
    const bool known = row.time_sum_ns >= 0 && row.count > 0;
    return fmt::format("{:>9} {:>9} {:>9} {:>9}  {}", "-", "-", "-", "-",
                       known ? "mean " + time_text(row.time_sum_ns / row.count) : "");
  }
  return fmt::format("{:>9} {:>9} {:>9} {:>9}", time_text(shown->percentile(50)),
                     time_text(shown->percentile(99)), time_text(shown->max()),
                     driver && queue ? time_text(queue->percentile(99)) : "-");
}

std::string table_row(const IntervalRow& row) {
  const double seconds = static_cast<double>(row.end_ns - row.start_ns) / 1e9;
  const std::string device = row.source.substr(row.source.find(':') + 1);
  return fmt::format("{:<10} {:<8} {:>8} {:>9} {}", device, row.operation,
                     format_count(static_cast<double>(row.count) / seconds),
                     fmt::format("{:.1f}", static_cast<double>(row.bytes) / seconds / (1 << 20)),
                     latency_columns(row));
}

// The last interval on standard error: drawn over on a terminal, a table each ten seconds
// elsewhere.
class LiveTable {
 public:
  LiveTable(bool quiet, bool bios)
      : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1), bios_(bios) {}

  void show(const std::vector<IntervalRow>& rows, std::int64_t now_ns) {
    if (quiet_ || (!terminal_ && now_ns - shown_ns_ < kTableEvery_ns)) return;
    if (terminal_ && lines_ > 0) fmt::print(stderr, "\x1b[{}A\x1b[J", lines_);
    const char* latency = bios_ ? "Q2C" : "D2C";
    fmt::print(stderr, "{:<10} {:<8} {:>8} {:>9} {:>5} p50 {:>5} p99 {:>5} max {:>9}\n", "device",
               "", "a second", "MiB/s", latency, latency, latency, "Q2C p99");
    lines_ = 1;
    for (const auto& row : rows) {
      fmt::print(stderr, "{}\n", table_row(row));
      ++lines_;
    }
    shown_ns_ = now_ns;
  }

 private:
  bool quiet_;
  bool terminal_;
  bool bios_;
  std::size_t lines_ = 0;
  std::int64_t shown_ns_ = 0;
};

// The processes and all they have started. Throws UsageError for one that isn't there.
std::vector<int> with_descendants(const std::vector<int>& processes) {
  std::vector<int> all = processes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto folder = std::filesystem::path("/proc") / std::to_string(all[i]);
    if (!std::filesystem::exists(folder)) {
      if (i >= processes.size()) continue;  // a child that has ended since
      throw UsageError(fmt::format("no process {}: name one that runs", all[i]));
    }
    std::error_code ended;
    for (const auto& task : std::filesystem::directory_iterator(folder / "task", ended)) {
      const auto text = read_text(task.path() / "children").value_or("");
      std::istringstream children(text);
      for (int child = 0; children >> child;) all.push_back(child);
    }
  }
  return all;
}

// Returns early when a stop is requested.
void wait_until(std::int64_t deadline_ns, const std::stop_token& stop) {
  constexpr std::int64_t kGlance_ns = 50'000'000;
  auto& clock = SystemClock::instance();
  while (!stop.stop_requested() && clock.now_ns() < deadline_ns) {
    clock.sleep_until_ns(std::min(deadline_ns, clock.now_ns() + kGlance_ns));
  }
}

class Watch {
 public:
  Watch(Record& record, const DeviceStack& stack, const ObserveOptions& options)
      : record_(record),
        options_(options),
        table_(options.common.quiet, stack.levels.front().bio_based),
        start_ns_(SystemClock::instance().now_ns()),
        started_(start_best_observer(stack, start_ns_, ours(options))) {
    system_.follow(with_descendants(options.processes));
    system_.start(start_ns_);
    record_.set_environment("observer", describe(started_));
    for (const auto& [name, why] : started_.missed) {
      record_.warn({"facility-missing", fmt::format("observer {}: {}", name, why)});
    }
  }

  void run(const std::stop_token& stop) {
    const Json spec = {{"interval_ns", options_.interval_ns}, {"observer", started_.name}};
    const Part part = record_.begin_part("observe", "observe", spec, start_ns_);
    const std::int64_t end_ns = options_.for_ns > 0 ? start_ns_ + options_.for_ns : INT64_MAX;
    std::int64_t now_ns = start_ns_;
    for (std::int64_t tick = 1; now_ns < end_ns && !stop.stop_requested(); ++tick) {
      wait_until(std::min(end_ns, start_ns_ + tick * options_.interval_ns), stop);
      now_ns = SystemClock::instance().now_ns();
      take(part, now_ns);
    }
    record_.end_part(part, now_ns, Json::object());
    if (stop.stop_requested() && options_.for_ns > 0) {
      throw Error(ExitCode::kInterrupted, "interrupted");
    }
  }

 private:
  static OwnProcesses ours(const ObserveOptions& options) {
    return {.ids = with_descendants(options.processes), .rows = true};
  }

  void take(const Part& part, std::int64_t now_ns) {
    const auto sample = started_.observer->sample(now_ns);
    write_sample(record_, part, true, sample);
    write_sample(record_, part, true, system_.sample(now_ns));
    record_.commit();
    table_.show(sample.rows, now_ns);
  }

  Record& record_;
  const ObserveOptions& options_;
  LiveTable table_;
  SystemSampler system_;
  std::int64_t start_ns_;
  StartedObserver started_;
};

ExitCode run(const ObserveOptions& options, const RunSpec& spec, const CommandContext& context) {
  if (options.interval_ns < 10'000'000) throw UsageError("--interval is at least 10ms");
  const DeviceStack stack = identify(options.target);
  require_block_device(stack);
  Record record = create_record(spec, options.common, drive_label(stack));
  describe_target(record, stack);
  return conclude(record, options.common, Output::kSummary,
                  [&] { Watch(record, stack, options).run(context.interrupt->token()); });
}

}  // namespace

void setup_observe(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ObserveOptions>();
  CLI::App* command = app.add_subcommand(
      "observe", "Watch a device under any running system, without a load of its own");
  command->footer(kObserveExamples);
  command
      ->add_option("DEVICE", options->target,
                   "A block device, or a file or folder: the devices it lies on")
      ->required()
      ->type_name("");
  duration_option(*command, "--for,--time", options->for_ns, "How long (default: until Ctrl-C)");
  command
      ->add_option("--pid", options->processes,
                   "Tell the I/O of this process and its children apart; may be repeated")
      ->type_name("PID");
  duration_option(*command, "--interval", options->interval_ns, "Length of an interval");
  add_common_options(*command, options->common);
  command->callback([options, command, &context] {
    const RunSpec spec = make_spec(*command, context, options->common, options->target);
    context.run = [options, spec, &context] { return run(*options, spec, context); };
  });
}

}  // namespace plimsoll::cli
