#include "cli/qualify_plan.h"

#include <fmt/format.h>

#include "results/base/error.h"
#include "results/base/units.h"

namespace plimsoll::cli {
namespace {

constexpr std::uint32_t kPage_bytes = 4096;
constexpr std::uint32_t kLogBlock_bytes = 8192;
constexpr std::uint32_t kWriteDepth = 32;
constexpr std::uint32_t kMixedDepth = 16;
constexpr double kMixedReadPercent = 70;

IoWorkload base_workload(const QualifyProfile& profile, const std::string& engine,
                         std::uint64_t seed) {
  IoWorkload workload;
  workload.engine = engine;
  workload.runtime_ns = profile.raw_time_ns;
  workload.warm_up_ns = profile.raw_warm_up_ns;
  workload.seed = seed;
  return workload;
}

IoStream random_stream(const char* name, double read_percent, std::uint32_t block_bytes,
                       std::uint32_t depth) {
  IoStream stream;
  stream.name = name;
  stream.read_percent = read_percent;
  stream.blocks = {{block_bytes, 100}};
  stream.depth = depth;
  return stream;
}

IoStream log_stream(std::uint32_t committers) {
  IoStream stream;
  stream.name = "log";
  stream.read_percent = 0;
  stream.blocks = {{kLogBlock_bytes, 100}};
  stream.pattern = AccessPattern::kSequential;
  stream.jobs = committers;
  stream.fdatasync_every = 1;
  return stream;
}

}  // namespace

const std::vector<QualifyProfile>& qualify_profiles() {
  static const std::vector<QualifyProfile> profiles = {
      {.name = "smoke",
       .description = "under a minute: does it work",
       .file_bytes = 256 * kMiB,
       .depths = {1, 4, 32},
       .committers = {1, 16},
       .raw_warm_up_ns = kSecond_ns / 2,
       .raw_time_ns = 2 * kSecond_ns,
       .tables = 2,
       .table_size = 25'000,
       .threads = 4,
       .warm_up_ns = 2 * kSecond_ns,
       .time_ns = 9 * kSecond_ns},
      {.name = "quick",
       .description = "under four minutes: a first answer",
       .file_bytes = 1024 * kMiB,
       .depths = {1, 2, 4, 8, 16, 32},
       .committers = {1, 4, 16},
       .raw_warm_up_ns = kSecond_ns,
       .raw_time_ns = 4 * kSecond_ns,
       .tables = 4,
       .table_size = 100'000,
       .threads = 8,
       .warm_up_ns = 5 * kSecond_ns,
       .time_ns = 40 * kSecond_ns},
      {.name = "full",
       .description = "about twenty minutes: longer parts, a larger database",
       .file_bytes = 8192 * kMiB,
       .depths = {1, 2, 4, 8, 16, 32},
       .committers = {1, 2, 4, 8, 16, 32, 64},
       .raw_warm_up_ns = 5 * kSecond_ns,
       .raw_time_ns = 25 * kSecond_ns,
       .tables = 10,
       .table_size = 250'000,
       .threads = 16,
       .warm_up_ns = 30 * kSecond_ns,
       .time_ns = 300 * kSecond_ns},
  };
  return profiles;
}

const QualifyProfile& qualify_profile(std::string_view name) {
  std::string known;
  for (const auto& profile : qualify_profiles()) {
    if (profile.name == name) return profile;
    known += (known.empty() ? "" : ", ") + std::string(profile.name);
  }
  throw UsageError(fmt::format("no profile \"{}\"; there are: {}", name, known));
}

std::vector<IoWorkload> characterisation(const QualifyProfile& profile, const std::string& engine,
                                         std::uint64_t seed) {
  std::vector<IoWorkload> workloads;
  const auto add = [&](std::string name, IoStream stream) {
    IoWorkload workload = base_workload(profile, engine, seed + workloads.size());
    workload.name = std::move(name);
    workload.streams = {std::move(stream)};
    workloads.push_back(std::move(workload));
  };
  for (const auto depth : profile.depths) {
    add(fmt::format("raw 4K random read QD{}", depth),
        random_stream("randread", 100, kPage_bytes, depth));
  }
  add(fmt::format("raw 4K random write QD{}", kWriteDepth),
      random_stream("randwrite", 0, kPage_bytes, kWriteDepth));
  add(fmt::format("raw 8K 70/30 random QD{}", kMixedDepth),
      random_stream("mixed", kMixedReadPercent, kLogBlock_bytes, kMixedDepth));
  for (const auto committers : profile.committers) {
    add(fmt::format("raw log 8K+fdatasync x{}", committers), log_stream(committers));
  }
  return workloads;
}

const std::vector<std::string_view>& qualify_workloads() {
  static const std::vector<std::string_view> names = {"oltp_read_write", "oltp_write_only"};
  return names;
}

SysbenchOptions sysbench_options(const QualifyProfile& profile, std::uint64_t seed) {
  SysbenchOptions options;
  options.tables = profile.tables;
  options.table_size = profile.table_size;
  options.seed = seed;
  return options;
}

OltpSpec oltp_spec(const QualifyProfile& profile, std::uint64_t seed) {
  OltpSpec spec;
  spec.threads = profile.threads;
  spec.warmup_ns = profile.warm_up_ns;
  spec.time_ns = profile.time_ns;
  spec.seed = seed;
  return spec;
}

std::int64_t planned_ns(const QualifyProfile& profile) {
  const auto raw_parts = static_cast<std::int64_t>(characterisation(profile, "null", 0).size());
  const auto database_parts = static_cast<std::int64_t>(qualify_workloads().size());
  return raw_parts * (profile.raw_warm_up_ns + profile.raw_time_ns) +
         database_parts * (profile.warm_up_ns + profile.time_ns);
}

}  // namespace plimsoll::cli
