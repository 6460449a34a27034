#include "rawio/workload/fio_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "rawio/workload/fio_section.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

// fio separates several files by colons; here each target has its own job, and a path is literal.
std::string literal_path(const FioSection& job) {
  std::string path;
  for (std::size_t i = 0; i < job.file_name.size(); ++i) {
    const char c = job.file_name[i];
    if (c == '\\' && i + 1 < job.file_name.size() && job.file_name[i + 1] == ':') {
      path += job.file_name[++i];
    } else if (c == ':') {
      throw UsageError(job.where +
                       ": filename: a colon means several files to fio; give each its "
                       "own job, or write \\: for a colon in a name");
    } else {
      path += c;
    }
  }
  const bool relative = !path.empty() && path.front() != '/';
  return relative && !job.directory.empty() ? job.directory + "/" + path : path;
}

// Jobs that name one file share it; those that name none have one of their own each.
std::uint32_t place_target(const FioSection& job, const std::string& default_target,
                           FioJobs& jobs) {
  FioTarget target;
  target.path = literal_path(job);
  const bool named = !target.path.empty();
  if (!named) target.path = job.directory.empty() ? default_target : job.directory;
  const std::uint64_t size = job.file_size_bytes != 0 ? job.file_size_bytes : job.size_bytes;
  target.file_size_bytes = size == 0 ? 0 : job.stream.span_offset_bytes + size;
  target.changes = job.stream.changes();
  const auto same = std::find_if(jobs.targets.begin(), jobs.targets.end(),
                                 [&](const FioTarget& one) { return one.path == target.path; });
  if (named && same != jobs.targets.end()) {
    same->file_size_bytes = std::max(same->file_size_bytes, target.file_size_bytes);
    same->changes = same->changes || target.changes;
    return static_cast<std::uint32_t>(same - jobs.targets.begin());
  }
  jobs.targets.push_back(target);
  return static_cast<std::uint32_t>(jobs.targets.size() - 1);
}

double mean_block_bytes(const IoStream& stream) {
  double mean = 0;
  for (const auto& block : stream.blocks) mean += block.size_bytes * block.percent / 100;
  return mean;
}

IoStream make_fio_stream(const FioSection& job) {
  IoStream stream = job.stream;
  if (job.mixed) stream.read_percent = job.mix_read_percent;
  if (job.engine == "psync") stream.depth = 1;  // fio's synchronous engines pay no heed to more
  stream.reap_batch = std::min(stream.reap_batch, stream.depth);
  stream.span_bytes = job.size_bytes;
  stream.no_repeat = job.random_map && stream.pattern == AccessPattern::kRandom &&
                     stream.spread.kind == SpreadKind::kUniform && stream.blocks.size() == 1;
  double rate_per_s = job.rate_per_s;
  if (job.rate_bytes_per_s > 0) rate_per_s = job.rate_bytes_per_s / mean_block_bytes(stream);
  if (rate_per_s > 0) {
    stream.arrivals = job.poisson ? ArrivalKind::kPoisson : ArrivalKind::kConstant;
    stream.rate_per_s = rate_per_s * stream.jobs;
  }
  return stream;
}

std::uint64_t bytes_of(const FioSection& job) {
  if (job.time_based) return 0;
  return (job.io_size_bytes != 0 ? job.io_size_bytes : job.size_bytes) * job.stream.jobs;
}

IoWorkload start_group(const FioSection& job, std::uint64_t seed) {
  IoWorkload group;
  group.name = "raw " + job.stream.name;
  group.streams.clear();
  group.engine = job.engine;
  group.runtime_ns = job.runtime_ns;
  group.warm_up_ns = job.ramp_ns;
  group.seed = job.seed != 0 ? job.seed : seed;
  group.polled = job.polled;
  group.kernel_thread = job.kernel_thread;
  group.on_error = job.count_errors ? OnError::kCount : OnError::kStop;
  return group;
}

// What the jobs of a group must agree on, as they start and end together here.
void require_alike(const IoWorkload& group, const FioSection& job) {
  const auto differ = [&](const char* what) {
    throw UsageError(
        fmt::format("{}: job {} has another {} than the jobs before it in its group: "
                    "make them alike, or part them by stonewall",
                    job.where, job.stream.name, what));
  };
  if (group.engine != job.engine) differ("ioengine");
  if (group.runtime_ns != job.runtime_ns) differ("runtime");
  if (group.warm_up_ns != job.ramp_ns) differ("ramp_time");
  if (group.polled != job.polled || group.kernel_thread != job.kernel_thread) differ("hipri");
  const OnError on_error = job.count_errors ? OnError::kCount : OnError::kStop;
  if (group.on_error != on_error) differ("continue_on_error");
  if (group.bytes == 0 || bytes_of(job) == 0) {
    if (group.bytes != bytes_of(job)) differ("end (size or time_based)");
    return;
  }
  std::uint64_t threads = 0;
  for (const auto& stream : group.streams) threads += stream.jobs;
  if (group.bytes / threads != bytes_of(job) / job.stream.jobs) differ("size to go through");
}

}  // namespace

FioJobs parse_fio_jobs(const std::string& text, const std::string& name,
                       const std::string& default_target, std::uint64_t seed) {
  FioJobs jobs;
  for (const auto& job : read_fio_sections(text, name)) {
    if (jobs.groups.empty() || job.stonewall) {
      jobs.groups.push_back(start_group(job, seed));
    } else {
      require_alike(jobs.groups.back(), job);
      jobs.groups.back().name += "+" + job.stream.name;
    }
    IoWorkload& group = jobs.groups.back();
    group.bytes += bytes_of(job);
    group.streams.push_back(make_fio_stream(job));
    group.streams.back().target = place_target(job, default_target, jobs);
    if (group.runtime_ns == 0 && group.bytes == 0) {
      throw UsageError(fmt::format("{}: job {} has no end: give it runtime= or size=", job.where,
                                   job.stream.name));
    }
  }
  return jobs;
}

}  // namespace plimsoll
