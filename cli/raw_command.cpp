#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/observation.h"
#include "cli/raw_options.h"
#include "cli/target_warnings.h"
#include "rawio/workload/run_raw.h"
#include "results/base/units.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRawExamples =
    "Examples:\n"
    "  plimsoll raw /mnt/nvme1                    random 4k reads of a file made for it\n"
    "  plimsoll raw /dev/nvme1n1 --rw read --bs 128k --time 1m\n"
    "  plimsoll raw /mnt/nvme1 --rw write --bs 8k --depth 1 --fdatasync 1   as a log writer does\n"
    "  plimsoll raw /mnt/nvme1 --rw randrw --bssplit 8k/70:64k/30 --rate 2000/s --arrivals "
    "poisson\n"
    "  plimsoll raw /mnt/nvme1 --distribution zipf:1.1 --size 8g   a hot working set\n"
    "  plimsoll raw /dev/nvme1n1 --rw randwrite --erase   writes over all that is on it";

constexpr std::uint64_t kFileSize_bytes = 1ull << 30;

TargetOptions make_target_options(const RawOptions& options, const IoWorkload& workload) {
  TargetOptions target;
  target.path = options.target;
  const std::uint64_t size = options.size_bytes != 0 ? options.size_bytes : kFileSize_bytes;
  target.file_size_bytes = options.offset_bytes + size;
  target.writes = workload.changes();
  target.keep = options.keep;
  target.overwrite = options.overwrite;
  target.erase.erase = !options.erase.empty();
  if (options.erase != "true") target.erase.named = options.erase;
  target.erase.results_dir =
      options.common.out.empty() ? fs::path("results") / "runs" : options.common.out;
  target.accept_buffered = options.common.accepts("no-direct-io");
  target.accept_sparse = options.common.accepts("file-is-sparse");
  return target;
}

// What the target stands on; a file that is still to be made stands on its folder.
DeviceStack identify_target(const std::string& target) {
  const fs::path path(target);
  if (fs::exists(path)) return identify(path);
  return identify(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

void check_spans(RawTarget& target, const IoWorkload& workload) {
  check_workload(workload, {target.shape()});
  const IoStream& stream = workload.streams.front();
  if (!stream.reads()) return;
  const std::uint64_t rest = target.shape().size_bytes - stream.span_offset_bytes;
  target.check_written(stream.span_offset_bytes, stream.span_bytes ? stream.span_bytes : rest);
}

// Throws what ends the run early, with everything measured in the record.
void measure(const IoWorkload& workload, RawTarget& target, const DeviceStack& stack,
             Record& record, const RawOptions& options, std::stop_token stop) {
  const ProgressSink progress = make_progress(options.common);
  target.fill(options.common.seed, stop, progress);
  Observation observation(record, stack);
  RawTarget* const targets[] = {&target};
  const auto result = run_raw(workload, targets, record, observation.raw_hooks(stop, progress));
  target.keep_if_asked();
  if (result.failure && workload.on_error == OnError::kStop) {
    throw BrokenError(describe(*result.failure, targets) +
                      "; look at the drive, or go on past errors with --on-error count");
  }
  if (result.interrupted) throw Error(ExitCode::kInterrupted, "interrupted");
}

ExitCode run(const RawOptions& options, const RunSpec& spec, const CommandContext& context) {
  const IoWorkload workload = make_raw_workload(options);
  RawTarget target = RawTarget::open(make_target_options(options, workload));
  check_spans(target, workload);
  const DeviceStack stack = identify_target(options.target);
  Record record = create_record(spec, options.common, drive_label(stack));
  describe_target(record, stack);
  for (const auto& warning : target.warnings()) record.warn(warning);
  return conclude(record, options.common, Output::kSummary, [&] {
    measure(workload, target, stack, record, options, context.interrupt->token());
  });
}

}  // namespace

void setup_raw(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<RawOptions>();
  CLI::App* command = app.add_subcommand("raw", "One raw workload on a drive: IOPS and latency");
  command->footer(kRawExamples);
  command
      ->add_option("TARGET", options->target,
                   "A folder of the drive, a new or existing file, or a block device")
      ->required()
      ->type_name("");
  add_raw_options(*command, *options);
  command->callback([options, command, &context] {
    const RunSpec spec = make_spec(*command, context, options->common, options->target);
    context.run = [options, spec, &context] { return run(*options, spec, context); };
  });
}

}  // namespace plimsoll::cli
