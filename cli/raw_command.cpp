#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/drive_health.h"
#include "cli/observation.h"
#include "cli/raw_options.h"
#include "rawio/workload/run_raw.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kRawExamples =
    "Examples:\n"
    "  plimsoll raw /mnt/nvme1                    random 4k reads of a file made for it\n"
    "  plimsoll raw /dev/nvme1n1 --rw read --bs 128k --time 1m\n"
    "  plimsoll raw /mnt/nvme1 --rw write --bs 8k --depth 1 --fdatasync 1   as a log writer does\n"
    "  plimsoll raw /mnt/nvme1 --rw randrw --bssplit 8k/70:64k/30 --rate 2000/s --arrivals "
    "poisson\n"
    "  plimsoll raw /mnt/nvme1 --distribution zipf:1.1 --size 8g   a hot working set\n"
    "  plimsoll raw /mnt/nvme1 --preset postgresql --size 8g   WAL, checkpoint and reads\n"
    "  plimsoll raw /dev/nvme1n1 /dev/nvme2n1     a pair of drives, the same load on each\n"
    "  plimsoll raw /mnt/nvme1 --rw randwrite --verify   and look for what was written\n"
    "  plimsoll raw --job pages.fio /mnt/nvme1    a fio job file\n"
    "  plimsoll raw /dev/nvme1n1 --rw randwrite --erase   writes over all that is on it";

// What a run does, and to what.
struct RawPlan {
  std::vector<PlannedTarget> targets;
  std::vector<IoWorkload> workloads;  // one part each; of options: made once the targets are open
};

RawPlan make_plan(const RawOptions& options) {
  RawPlan plan;
  if (options.job_file.empty()) {
    if (options.targets.empty()) {
      throw UsageError("TARGET is missing: name a folder of the drive, a file or a block device");
    }
    plan.targets = plan_targets(options);
    return plan;
  }
  FioJobs jobs = read_job_file(options);
  for (const auto& target : jobs.targets) {
    plan.targets.push_back({target.path, target.file_size_bytes, target.changes, 0});
  }
  plan.workloads = std::move(jobs.groups);
  return plan;
}

// Throws what ends the run early, with everything measured in the record.
void measure(const std::vector<IoWorkload>& workloads, RawTargets& targets, Record& record,
             const RawOptions& options, std::stop_token stop) {
  const ProgressSink progress = make_progress(options.common);
  targets.fill(options.common.seed, stop, progress);
  const DriveHealthWatch health(record, targets.stack());
  Observation observation(record, targets.stack());
  const auto all = targets.all();
  for (const auto& workload : workloads) {
    const auto result = run_raw(workload, all, record, observation.raw_hooks(stop, progress));
    if (result.failure && workload.on_error == OnError::kStop) {
      throw BrokenError(describe(*result.failure, all) +
                        "; look at the drive, or go on past errors with --on-error count");
    }
    if (result.interrupted) throw Error(ExitCode::kInterrupted, "interrupted");
  }
  observation.finish();
  targets.keep_if_asked();
}

ExitCode run(const RawOptions& options, const RunSpec& spec, const CommandContext& context) {
  RawPlan plan = make_plan(options);
  RawTargets targets(plan.targets, options.consent, options.common);
  if (plan.workloads.empty()) plan.workloads = {make_raw_workload(options, targets.shapes())};
  for (auto& workload : plan.workloads) {
    place_threads(workload, options, targets.stack());
    check_workload(workload, targets.shapes());
    targets.check_written(workload);
  }
  Record record = create_record(spec, options.common, drive_label(targets.stack()));
  targets.describe_in(record);
  return conclude(record, options.common, Output::kSummary, [&] {
    measure(plan.workloads, targets, record, options, context.interrupt->token());
  });
}

}  // namespace

void setup_raw(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<RawOptions>();
  CLI::App* command = app.add_subcommand("raw", "One raw workload on a drive: IOPS and latency");
  command->footer(kRawExamples);
  command
      ->add_option("TARGET", options->targets,
                   "A folder of the drive, a new or existing file, or a block device; of several, "
                   "each has the same load")
      ->type_name("");
  add_raw_options(*command, *options);
  command->callback([options, command, &context] {
    const RunSpec spec = make_spec(*command, context, options->common,
                                   fmt::format("{}", fmt::join(options->targets, " ")));
    context.run = [options, spec, &context] { return run(*options, spec, context); };
  });
}

}  // namespace plimsoll::cli
