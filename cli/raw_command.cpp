#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/observation.h"
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
    "  plimsoll raw /dev/nvme1n1 --rw randwrite --erase   writes over all that is on it";

struct RawOptions {
  CommonOptions common;
  std::string target;
  std::string rw = "randread";
  double read_percent = 70;
  std::uint64_t block_bytes = 4096;
  std::string block_split;
  std::uint32_t depth = 0;
  std::uint32_t jobs = 1;
  std::string engine = std::string(engine_kinds().front().name);
  std::int64_t runtime_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset_bytes = 0;
  std::int64_t warm_up_ns = 0;
  std::int64_t interval_ns = 1'000'000'000;
  std::uint32_t fsync_every = 0;
  std::uint32_t fdatasync_every = 0;
  double rate_per_s = 0;
  std::string arrivals;
  std::uint32_t submit_batch = 0;
  std::uint32_t reap_batch = 1;
  std::string on_error = "stop";
  bool keep = false;
  bool overwrite = false;
  std::string erase;  // "true": --erase; else what follows --erase=
};

constexpr std::uint64_t kFileSize_bytes = 1ull << 30;
constexpr std::int64_t kRuntime_ns = 30'000'000'000;
constexpr std::uint32_t kDepth = 32;

struct AccessMode {
  const char* name;
  AccessPattern pattern;
  double read_percent;  // negative: --rwmixread
};

constexpr AccessMode kModes[] = {
    {"read", AccessPattern::kSequential, 100}, {"write", AccessPattern::kSequential, 0},
    {"rw", AccessPattern::kSequential, -1},    {"randread", AccessPattern::kRandom, 100},
    {"randwrite", AccessPattern::kRandom, 0},  {"randrw", AccessPattern::kRandom, -1},
};

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const auto& mode : kModes) names.emplace_back(mode.name);
  return names;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const auto& kind : engine_kinds()) names.emplace_back(kind.name);
  return names;
}

std::uint32_t block_size(std::uint64_t bytes) {
  if (bytes > 0 && bytes <= (1u << 30)) return static_cast<std::uint32_t>(bytes);
  throw UsageError(fmt::format("block size {}: it takes up to 1g", format_size(bytes)));
}

// fio's syntax: 8k/70:64k/30.
std::vector<BlockShare> parse_split(const std::string& text) {
  std::vector<BlockShare> blocks;
  for (const auto& part : CLI::detail::split(text, ':')) {
    const auto slash = part.find('/');
    double percent = 0;
    if (slash == std::string::npos || !CLI::detail::lexical_cast(part.substr(slash + 1), percent)) {
      throw UsageError(fmt::format("--bssplit {}: write it as 8k/70:64k/30", text));
    }
    blocks.push_back({block_size(parse_size_bytes(part.substr(0, slash))), percent});
  }
  return blocks;
}

ArrivalKind parse_arrivals(const RawOptions& options) {
  if (options.rate_per_s <= 0) {
    if (options.arrivals.empty() || options.arrivals == "closed") return ArrivalKind::kClosed;
    throw UsageError("--arrivals " + options.arrivals + " needs a --rate");
  }
  if (options.arrivals == "closed") throw UsageError("--rate makes an open loop: drop one of both");
  return options.arrivals == "poisson" ? ArrivalKind::kPoisson : ArrivalKind::kConstant;
}

IoStream make_stream(const RawOptions& options) {
  const auto* mode = std::find_if(std::begin(kModes), std::end(kModes),
                                  [&](const auto& row) { return options.rw == row.name; });
  IoStream stream;
  stream.name = mode->name;
  stream.pattern = mode->pattern;
  stream.read_percent = mode->read_percent < 0 ? options.read_percent : mode->read_percent;
  stream.blocks = options.block_split.empty()
                      ? std::vector<BlockShare>{{block_size(options.block_bytes), 100}}
                      : parse_split(options.block_split);
  stream.arrivals = parse_arrivals(options);
  stream.rate_per_s = options.rate_per_s;
  stream.depth = options.depth != 0 ? options.depth : options.engine == "psync" ? 1 : kDepth;
  stream.jobs = options.jobs;
  stream.fsync_every = options.fsync_every;
  stream.fdatasync_every = options.fdatasync_every;
  stream.submit_batch = options.submit_batch;
  stream.reap_batch = options.reap_batch;
  stream.span_offset_bytes = options.offset_bytes;
  stream.span_bytes = options.size_bytes;
  return stream;
}

IoWorkload make_workload(const RawOptions& options) {
  IoWorkload workload;
  workload.streams = {make_stream(options)};
  workload.name = "raw " + describe(workload.streams.front());
  workload.engine = options.engine;
  workload.bytes = options.bytes;
  workload.runtime_ns = options.runtime_ns;
  if (options.runtime_ns <= 0 && options.bytes == 0) workload.runtime_ns = kRuntime_ns;
  workload.warm_up_ns = options.warm_up_ns;
  workload.interval_ns = options.interval_ns;
  workload.seed = options.common.seed;
  workload.on_error = options.on_error == "count" ? OnError::kCount : OnError::kStop;
  return workload;
}

TargetOptions make_target_options(const RawOptions& options, const IoWorkload& workload) {
  TargetOptions target;
  target.path = options.target;
  const std::uint64_t size = options.size_bytes != 0 ? options.size_bytes : kFileSize_bytes;
  target.file_size_bytes = options.offset_bytes + size;
  target.writes = workload.writes();
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
  const IoWorkload workload = make_workload(options);
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

void add_load_options(CLI::App& command, RawOptions& options) {
  command.add_option("--rw", options.rw, "What to do")->check(CLI::IsMember(mode_names()));
  command.add_option("--rwmixread", options.read_percent, "Percent of reads of rw and randrw")
      ->check(CLI::Range(0.0, 100.0));
  size_option(command, "--bs", options.block_bytes, "Block size");
  command.add_option("--bssplit", options.block_split, "Block sizes with percents: 8k/70:64k/30")
      ->type_name("SPLIT");
  command.add_option("--depth,--iodepth", options.depth,
                     "Requests in flight a job (default 32; psync 1)");
  command.add_option("--jobs,--numjobs", options.jobs, "Threads that do the same");
  command.add_option("--engine", options.engine, "How requests reach the kernel")
      ->check(CLI::IsMember(engine_names()));
  command.add_option("--fsync", options.fsync_every, "fsync after so many writes of a job");
  command.add_option("--fdatasync", options.fdatasync_every,
                     "fdatasync after so many writes of a job");
  rate_option(command, "--rate", options.rate_per_s,
              "I/Os a second of all jobs together, an open loop (default: as fast as it goes)");
  command.add_option("--arrivals", options.arrivals, "With --rate: constant (default) or poisson")
      ->check(CLI::IsMember({"closed", "constant", "poisson"}));
  command.add_option("--submit-batch", options.submit_batch,
                     "At most so many requests a submit call (0: all that are free)");
  command.add_option("--reap-batch", options.reap_batch,
                     "Wait for at least so many completions at once");
}

void add_span_options(CLI::App& command, RawOptions& options) {
  duration_option(command, "--runtime,--time", options.runtime_ns,
                  "Measured time (default 30s; with --bytes until they are done)");
  size_option(command, "--bytes", options.bytes, "End after so many bytes, warm-up included");
  duration_option(command, "--warmup,--ramp", options.warm_up_ns, "Time before the measured part");
  duration_option(command, "--interval", options.interval_ns, "Length of an interval");
  size_option(command, "--size", options.size_bytes,
              "Part of the target to use, or size of the file to make (default 1g)");
  size_option(command, "--offset", options.offset_bytes, "Where that part begins");
  command.add_option("--on-error", options.on_error, "stop at the first failed I/O, or count it")
      ->check(CLI::IsMember({"stop", "count"}));
  command.add_flag("--keep", options.keep, "Keep the file that was made, under TARGET's name");
  command.add_flag("--overwrite", options.overwrite, "Write into an existing file");
  command.add_flag("--erase", options.erase,
                   "Write to a block device; --erase=SERIAL also over what is on it");
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
  add_load_options(*command, *options);
  add_span_options(*command, *options);
  add_common_options(*command, options->common);
  command->callback([options, command, &context] {
    const RunSpec spec = make_spec(*command, context, options->common, options->target);
    context.run = [options, spec, &context] { return run(*options, spec, context); };
  });
}

}  // namespace plimsoll::cli
