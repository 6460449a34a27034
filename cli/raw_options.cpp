#include "cli/raw_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "rawio/engine/io_engine.h"
#include "rawio/workload/cpus.h"
#include "rawio/workload/presets.h"
#include "results/base/units.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kFileSize_bytes = 1ull << 30;
constexpr std::int64_t kRuntime_ns = 30'000'000'000;
constexpr std::uint32_t kDepth = 32;
constexpr std::int64_t kMostDepth = 65536;
constexpr std::int64_t kMostJobs = 4096;

struct AccessMode {
  const char* name;
  AccessPattern pattern;
  double read_percent;  // negative: --rwmixread
  double trim_percent;  // negative: --rwmixtrim
};

constexpr AccessMode kModes[] = {
    {"read", AccessPattern::kSequential, 100, 0}, {"write", AccessPattern::kSequential, 0, 0},
    {"trim", AccessPattern::kSequential, 0, 100}, {"rw", AccessPattern::kSequential, -1, -1},
    {"randread", AccessPattern::kRandom, 100, 0}, {"randwrite", AccessPattern::kRandom, 0, 0},
    {"randtrim", AccessPattern::kRandom, 0, 100}, {"randrw", AccessPattern::kRandom, -1, -1},
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

WriteSync parse_sync(const std::string& name) {
  if (name == "o_dsync") return WriteSync::kOpened;
  return name == "rwf_dsync" ? WriteSync::kEach : WriteSync::kNone;
}

void make_strided(IoStream& stream, const RawOptions& options) {
  if (stream.pattern != AccessPattern::kSequential) {
    throw UsageError("--stride goes through the drive in order: use --rw read, write, trim or rw");
  }
  stream.pattern = AccessPattern::kStrided;
  stream.stride_bytes = options.stride_bytes;
}

IoStream make_stream(const RawOptions& options) {
  const auto* mode = std::find_if(std::begin(kModes), std::end(kModes),
                                  [&](const auto& row) { return options.rw == row.name; });
  IoStream stream;
  stream.name = mode->name;
  stream.pattern = mode->pattern;
  stream.read_percent = mode->read_percent < 0 ? options.read_percent : mode->read_percent;
  stream.trim_percent = mode->trim_percent < 0 ? options.trim_percent : mode->trim_percent;
  stream.spread = parse_spread(options.distribution);
  stream.no_repeat = options.no_repeat;
  if (options.stride_bytes != 0) make_strided(stream, options);
  stream.verify = options.verify;
  stream.content = {options.compress_percent, options.dedupe_percent};
  stream.think_ns = options.think_ns;
  stream.think_every = options.think_every;
  stream.blocks = options.block_split.empty()
                      ? std::vector<BlockShare>{{block_size(options.block_bytes), 100}}
                      : parse_split(options.block_split);
  stream.arrivals = parse_arrivals(options);
  stream.rate_per_s = options.rate_per_s;
  stream.depth = options.depth != 0 ? options.depth : options.engine == "psync" ? 1 : kDepth;
  stream.jobs = options.jobs;
  stream.fsync_every = options.fsync_every;
  stream.fdatasync_every = options.fdatasync_every;
  stream.write_sync = parse_sync(options.sync);
  stream.submit_batch = options.submit_batch;
  stream.reap_batch = options.reap_batch;
  stream.span_offset_bytes = options.offset_bytes;
  stream.span_bytes = options.size_bytes;
  return stream;
}

std::vector<IoStream> make_streams(const RawOptions& options, const TargetShape& target) {
  if (options.preset.empty()) return {make_stream(options)};
  const std::uint64_t rest = target.size_bytes - std::min(options.offset_bytes, target.size_bytes);
  return make_preset(options.preset, options.offset_bytes,
                     options.size_bytes != 0 ? options.size_bytes : rest, options.engine,
                     target.logical_block_bytes);
}

std::string workload_name(const RawOptions& options, const IoWorkload& workload) {
  std::string name =
      "raw " + (options.preset.empty() ? describe(workload.streams.front()) : options.preset);
  if (options.targets.size() > 1) name += fmt::format(" on {} targets", options.targets.size());
  return name;
}

}  // namespace

std::vector<PlannedTarget> plan_targets(const RawOptions& options) {
  const std::uint64_t size = options.size_bytes != 0 ? options.size_bytes : kFileSize_bytes;
  const bool changes =
      options.preset.empty() ? make_stream(options).changes() : preset_changes(options.preset);
  std::vector<PlannedTarget> planned;
  for (const auto& path : options.targets) {
    planned.push_back({path, options.offset_bytes + size, changes, options.offset_bytes});
  }
  return planned;
}

IoWorkload make_raw_workload(const RawOptions& options, const std::vector<TargetShape>& targets) {
  IoWorkload workload;
  workload.streams.clear();
  for (std::uint32_t target = 0; target < targets.size(); ++target) {
    for (auto& stream : make_streams(options, targets[target])) {
      stream.target = target;
      stream.rate_per_s /= static_cast<double>(targets.size());
      workload.streams.push_back(std::move(stream));
    }
  }
  workload.name = workload_name(options, workload);
  workload.engine = options.engine;
  workload.bytes = options.bytes;
  workload.runtime_ns = options.runtime_ns;
  if (options.runtime_ns <= 0 && options.bytes == 0) workload.runtime_ns = kRuntime_ns;
  workload.warm_up_ns = options.warm_up_ns;
  workload.interval_ns = options.interval_ns;
  workload.seed = options.common.seed;
  workload.registered = !options.unregistered;
  workload.polled = options.polled;
  workload.kernel_thread = options.kernel_thread;
  workload.on_error = options.on_error == "count" ? OnError::kCount : OnError::kStop;
  return workload;
}

FioJobs read_job_file(const RawOptions& options) {
  std::ifstream file(options.job_file);
  if (!file) throw UsageError("--job: can't read " + options.job_file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string target = options.targets.empty() ? std::string() : options.targets.front();
  if (options.targets.size() > 1) throw UsageError("--job: one TARGET, for jobs that name no file");
  auto jobs =
      parse_fio_jobs(text, fs::path(options.job_file).filename(), target, options.common.seed);
  for (const auto& one : jobs.targets) {
    if (one.path.empty()) {
      throw UsageError(options.job_file + ": a job names no file: give a TARGET, or filename=");
    }
  }
  for (auto& group : jobs.groups) group.interval_ns = options.interval_ns;
  return jobs;
}

void place_threads(IoWorkload& workload, const RawOptions& options, const DeviceStack& stack) {
  if (!options.cpus.empty()) {
    workload.cpus = parse_cpu_list(options.cpus);
    workload.pinned = true;
  } else if (options.numa == "auto" && !stack.drives().empty()) {
    workload.cpus = cpus_of_node(stack.drives().front()->numa_node.value_or(-1));
  }
}

namespace {

void add_thread_options(CLI::App& command, RawOptions& options) {
  command
      .add_option("--cpus,--cpus_allowed", options.cpus,
                  "Processors for the jobs' threads, one each, going round: 0,2-5")
      ->type_name("LIST");
  command
      .add_option("--numa", options.numa,
                  "auto: threads and memory on the drive's NUMA node, where there are several")
      ->check(CLI::IsMember({"auto", "off"}));
  command.add_flag("--no-registered", options.unregistered,
                   "io_uring: without registered buffers and files");
  command.add_flag("--polled,--hipri", options.polled,
                   "io_uring: poll for completions, where the drive can");
  command.add_flag("--sqpoll,--sqthread_poll", options.kernel_thread,
                   "io_uring: a thread of the kernel submits");
}

void add_load_options(CLI::App& command, RawOptions& options) {
  command.add_option("--rw", options.rw, "What to do")->check(CLI::IsMember(mode_names()));
  command.add_option("--rwmixread", options.read_percent, "Percent of reads of rw and randrw")
      ->check(CLI::Range(0.0, 100.0));
  size_option(command, "--bs", options.block_bytes, "Block size");
  command.add_option("--bssplit", options.block_split, "Block sizes with percents: 8k/70:64k/30")
      ->type_name("SPLIT");
  command
      .add_option("--depth,--iodepth", options.depth,
                  "Requests in flight a job (default 32; psync 1)")
      ->default_str("")
      ->check(whole_number(1, kMostDepth));
  command.add_option("--jobs,--numjobs", options.jobs, "Threads that do the same")
      ->check(whole_number(1, kMostJobs));
  command.add_option("--engine", options.engine, "How requests reach the kernel")
      ->check(CLI::IsMember(engine_names()));
  const auto count = [&](const char* name, std::uint32_t& value, std::int64_t lowest,
                         const char* description) {
    command.add_option(name, value, description)->check(whole_number(lowest, UINT32_MAX));
  };
  count("--fsync", options.fsync_every, 0, "fsync after so many writes of a job (0: never)");
  count("--fdatasync", options.fdatasync_every, 0,
        "fdatasync after so many writes of a job (0: never)");
  command
      .add_option("--sync", options.sync,
                  "Each write by itself on the medium: by O_DSYNC or by RWF_DSYNC")
      ->check(CLI::IsMember({"none", "o_dsync", "rwf_dsync"}));
  rate_option(command, "--rate", options.rate_per_s,
              "I/Os a second of all jobs together, an open loop (default: as fast as it goes)");
  command.add_option("--arrivals", options.arrivals, "With --rate: constant (default) or poisson")
      ->check(CLI::IsMember({"closed", "constant", "poisson"}));
  count("--submit-batch", options.submit_batch, 0,
        "At most so many requests a submit call (0: all that are free)");
  count("--reap-batch", options.reap_batch, 1, "Wait for at least so many completions at once");
}

void add_pattern_options(CLI::App& command, RawOptions& options) {
  const auto percent = [&](const char* name, double& value, const char* description) {
    command.add_option(name, value, description)
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 100.0));
  };
  percent("--rwmixtrim", options.trim_percent, "Percent of trims of rw and randrw");
  command
      .add_option("--distribution,--random_distribution", options.distribution,
                  "Of random accesses: random, zipf:THETA, pareto:H, normal:PERCENT or "
                  "zoned:ACCESS/SIZE:...")
      ->type_name("NAME");
  command.add_flag("--no-repeat", options.no_repeat,
                   "Random, but every block once before any comes again");
  size_option(command, "--stride", options.stride_bytes,
              "In order, but from start to start so far (not less than the block)");
  percent("--compress", options.compress_percent, "How far written data can be compressed");
  percent("--dedupe", options.dedupe_percent, "Share of written 4k units that are copies");
  duration_option(command, "--thinktime", options.think_ns,
                  "A job waits so long after --think-every requests have finished", Zero::kAllowed);
  command
      .add_option("--think-every,--thinktime_blocks", options.think_every,
                  "Requests between think times")
      ->check(whole_number(1, UINT32_MAX));
}

std::string preset_names() {
  std::string text = "How a database uses its drive, instead of --rw and its like:";
  for (const auto& preset : presets()) {
    text += fmt::format("\n{}: {}", preset.name, preset.description);
  }
  return text;
}

void add_preset_option(CLI::App& command, RawOptions& options) {
  std::vector<std::string> names;
  for (const auto& preset : presets()) names.emplace_back(preset.name);
  CLI::Option* preset = command.add_option("--preset", options.preset, preset_names())
                            ->type_name("NAME")
                            ->check(CLI::IsMember(names).description(""));
  CLI::Option* job =
      command
          .add_option("--job", options.job_file,
                      "Run a fio job file; of jobs that name no file on TARGET. An option that "
                      "isn't honoured is an error")
          ->type_name("FILE.fio")
          ->excludes(preset);
  for (const char* other : {"--runtime", "--bytes", "--warmup", "--size", "--offset", "--engine",
                            "--compress", "--dedupe", "--on-error", "--polled", "--sqpoll"}) {
    job->excludes(command.get_option(other));
  }
  for (const char* other :
       {"--rw", "--rwmixread", "--rwmixtrim", "--bs", "--bssplit", "--depth", "--jobs", "--fsync",
        "--fdatasync", "--sync", "--rate", "--arrivals", "--distribution", "--no-repeat",
        "--stride", "--thinktime", "--verify"}) {
    preset->excludes(command.get_option(other));
    job->excludes(command.get_option(other));
  }
}

void add_span_options(CLI::App& command, RawOptions& options) {
  duration_option(command, "--runtime,--time", options.runtime_ns,
                  "Measured time (default 30s; with --bytes until they are done)");
  size_option(command, "--bytes", options.bytes, "End after so many bytes, warm-up included");
  duration_option(command, "--warmup,--ramp", options.warm_up_ns, "Time before the measured part",
                  Zero::kAllowed);
  duration_option(command, "--interval", options.interval_ns, "Length of an interval");
  size_option(command, "--size", options.size_bytes,
              "Part of the target to use, or size of the file to make (default 1g)");
  size_option(command, "--offset", options.offset_bytes, "Where that part begins", Zero::kAllowed);
  command.add_option("--on-error", options.on_error, "stop at the first failed I/O, or count it")
      ->check(CLI::IsMember({"stop", "count"}));
  command.add_flag("--verify", options.verify,
                   "Look for all that was written after the run; corrupt blocks make it fail");
}

}  // namespace

void add_raw_options(CLI::App& command, RawOptions& options) {
  add_load_options(command, options);
  add_pattern_options(command, options);
  add_span_options(command, options);
  add_thread_options(command, options);
  add_preset_option(command, options);
  add_consent_options(command, options.consent);
  add_common_options(command, options.common);
}

}  // namespace plimsoll::cli
