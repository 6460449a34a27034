// The options of `plimsoll raw`, and the workload they ask for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/raw_targets.h"
#include "rawio/engine/io_engine.h"
#include "rawio/workload/fio_job.h"
#include "rawio/workload/io_workload.h"

namespace plimsoll::cli {

struct RawOptions {
  CommonOptions common;
  std::vector<std::string> targets;
  std::string preset;
  std::string job_file;
  std::string sync = "none";
  std::string rw = "randread";
  double read_percent = 70;
  std::uint64_t block_bytes = 4096;
  std::string block_split;
  double trim_percent = 0;
  bool no_repeat = false;
  std::string distribution = "random";
  std::uint64_t stride_bytes = 0;
  double compress_percent = 0;
  double dedupe_percent = 0;
  std::int64_t think_ns = 0;
  std::uint32_t think_every = 1;
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
  bool verify = false;
  std::string cpus;
  std::string numa = "auto";
  bool unregistered = false;
  bool polled = false;
  bool kernel_thread = false;
  TargetConsent consent;
};

void add_raw_options(CLI::App& command, RawOptions& options);

// What is to be opened. Throws UsageError.
std::vector<PlannedTarget> plan_targets(const RawOptions& options);
// On the opened targets: the same streams on each, which share a rate. Throws UsageError.
IoWorkload make_raw_workload(const RawOptions& options, const std::vector<TargetShape>& targets);

// With --job: what the file asks for. Throws UsageError.
FioJobs read_job_file(const RawOptions& options);

// Where the threads stay: as asked by --cpus, else on the NUMA node of the drive where there are
// several nodes.
void place_threads(IoWorkload& workload, const RawOptions& options, const DeviceStack& stack);

}  // namespace plimsoll::cli
