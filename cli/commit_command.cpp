#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/drive_health.h"
#include "cli/observation.h"
#include "cli/raw_targets.h"
#include "rawio/suites/commit.h"
#include "rawio/suites/plausibility.h"
#include "results/base/units.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kCommitExamples =
    "Examples:\n"
    "  plimsoll commit /mnt/nvme1                 all ways to commit, 1 to 64 committers\n"
    "  plimsoll commit /mnt/nvme1 --method fdatasync --committers 1,16 --time 10s\n"
    "  plimsoll commit /dev/nvme1n1 --erase       on the drive itself; writes over its start";

struct CommitOptions {
  CommonOptions common;
  TargetConsent consent;
  std::string target;
  std::vector<std::string> methods;
  std::vector<std::uint32_t> committers = {1, 2, 4, 8, 16, 32, 64};
  std::string group = "both";
  std::uint64_t record_bytes = 8192;
  std::uint64_t size_bytes = 64ull << 20;
  std::uint64_t offset_bytes = 0;
  std::int64_t runtime_ns = kSecond_ns;
  std::int64_t warm_up_ns = kSecond_ns / 5;
};

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& row : commit_methods()) names.emplace_back(row.name);
  return names;
}

CommitPlan make_commit_plan(const CommitOptions& options) {
  CommitPlan plan;
  std::vector<CommitMethod> methods;
  for (const auto& row : commit_methods()) {
    const auto& asked = options.methods;
    if (asked.empty() || std::find(asked.begin(), asked.end(), row.name) != asked.end()) {
      methods.push_back(row.method);
    }
  }
  std::vector<bool> grouped;
  if (options.group != "on") grouped.push_back(false);
  if (options.group != "off") grouped.push_back(true);
  plan.cells = commit_cells(methods, options.committers, grouped);
  plan.record_bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(options.record_bytes, 1u << 30));
  plan.span_offset_bytes = options.offset_bytes;
  plan.span_bytes = options.size_bytes;
  plan.runtime_ns = options.runtime_ns;
  plan.warm_up_ns = options.warm_up_ns;
  plan.seed = options.common.seed;
  return plan;
}

// Holds the quickest commit of one committer against what the drive can do.
void judge(Record& record, const DeviceStack& stack, const CommitPlan& plan,
           std::optional<std::int64_t> median_ns) {
  const auto drives = stack.drives();
  if (drives.empty() || !median_ns) return;
  const auto verdict = judge_commit(*drives.front(), plan.record_bytes, *median_ns);
  record.add_finding({{"kind", "plausibility"},
                      {"text", verdict.text},
                      {"doubtful", verdict.doubtful},
                      {"lie", verdict.lie},
                      {"commit_p50_ns", *median_ns}});
  if (verdict.lie) record.warn({"lying-flush", verdict.text});
  if (verdict.doubtful && !verdict.lie) record.warn({"volatile-cache", verdict.text});
}

void check_cell(const CommitResult& result, const std::string& target) {
  if (result.error_code != 0) {
    const char* name = ::strerrorname_np(result.error_code);
    throw BrokenError(fmt::format("a commit at offset {} of {} failed: {} ({}); look at the drive",
                                  result.failed_offset, target, std::strerror(result.error_code),
                                  name != nullptr ? name : "?"));
  }
  if (result.interrupted) throw Error(ExitCode::kInterrupted, "interrupted");
}

void measure_commits(const CommitPlan& plan, RawTargets& targets, Record& record,
                     const CommitOptions& options, std::stop_token stop) {
  const ProgressSink progress = make_progress(options.common);
  targets.fill(options.common.seed, stop, progress);
  const DriveHealthWatch health(record, targets.stack());
  Observation observation(record, targets.stack());
  std::optional<std::int64_t> median_ns;
  for (const auto& cell : plan.cells) {
    const auto result =
        run_commit(plan, cell, targets[0], record, observation.raw_hooks(stop, progress));
    check_cell(result, options.target);
    const auto& commits = result.totals.at("commit");
    if (cell.committers != 1 || commits.count() == 0) continue;
    const std::int64_t p50_ns = commits.service.percentile(50);
    median_ns = std::min(median_ns.value_or(p50_ns), p50_ns);
  }
  observation.finish();
  judge(record, targets.stack(), plan, median_ns);
  targets.keep_if_asked();
}

ExitCode commit(const CommitOptions& options, const RunSpec& spec, const CommandContext& context) {
  const CommitPlan plan = make_commit_plan(options);
  RawTargets targets(
      {{options.target, options.offset_bytes + options.size_bytes, true, options.offset_bytes}},
      options.consent, options.common);
  check_commit(plan, targets[0].shape());
  Record record = create_record(spec, options.common, drive_label(targets.stack()));
  targets.describe_in(record);
  return conclude(record, options.common, Output::kSummary, [&] {
    measure_commits(plan, targets, record, options, context.interrupt->token());
  });
}

void add_commit_options(CLI::App& command, CommitOptions& options) {
  command
      .add_option("--method", options.methods,
                  "Ways to make a record durable (default: all, side by side)")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(method_names()));
  command.add_option("--committers", options.committers, "How many commit at once")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number(1, 1024));
  command
      .add_option("--group", options.group,
                  "Group commit: one writes and flushes what all have queued")
      ->check(CLI::IsMember({"on", "off", "both"}));
  size_option(command, "--record,--bs", options.record_bytes, "Size of a log record");
  size_option(command, "--size", options.size_bytes, "Size of the log, which goes round");
  size_option(command, "--offset", options.offset_bytes, "Where the log begins", Zero::kAllowed);
  duration_option(command, "--time,--runtime", options.runtime_ns, "Measured time of each cell");
  duration_option(command, "--warmup", options.warm_up_ns, "Time before it", Zero::kAllowed);
  add_consent_options(command, options.consent);
  add_common_options(command, options.common);
}

}  // namespace

void setup_commit(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<CommitOptions>();
  CLI::App* command =
      app.add_subcommand("commit", "Commit latency: log append and flush by 1 to 64 committers");
  command->footer(kCommitExamples);
  command->add_option("TARGET", options->target, "A folder of the drive, a file, or a block device")
      ->required()
      ->type_name("");
  add_commit_options(*command, *options);
  command->callback([options, command, &context] {
    const RunSpec spec = make_spec(*command, context, options->common, options->target);
    context.run = [options, spec, &context] { return commit(*options, spec, context); };
  });
}

}  // namespace plimsoll::cli
