// Runs a workload on targets and writes what happened into a record.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "rawio/workload/io_job.h"
#include "rawio/workload/io_workload.h"
#include "rawio/workload/target.h"
#include "rawio/workload/verification.h"
#include "results/base/progress.h"
#include "results/record/record.h"

namespace plimsoll {

struct RunHooks {
  std::stop_token stop = {};
  ProgressSink progress = {};
  // On the calling thread, with the record free to write to: `on_begin` before the first I/O,
  // `on_tick` at each interval's end, after the interval's own rows and before their commit. There
  // an observer takes its sample. `measured` is that of the interval that ends.
  std::function<void(const Part& part, std::int64_t now_ns)> on_begin = {};
  std::function<void(const Part& part, std::int64_t now_ns, bool measured)> on_tick = {};
};

struct RawResult {
  Part part;                               // ended, with its facts
  std::map<std::string, OpTotals> totals;  // by operation, of the measured part
  double measured_s = 0;
  bool interrupted = false;                  // by the stop token
  std::optional<IoFailure> failure;          // the first of the first job that had one
  std::uint64_t errors = 0;                  // warm-up included
  std::optional<Verification> verification;  // of streams that ask for it
  std::optional<double> asked_rate_per_s;    // of open loops
  // Of open loops: what they started over the time in which it was due; else the IOPS.
  std::optional<double> achieved_rate_per_s;
  double cpu_user_s = 0;  // of the job threads, warm-up included
  double cpu_system_s = 0;
  std::uint64_t total_count = 0;  // I/Os that succeeded, warm-up included

  double iops() const;  // reads, writes and trims; flushes are not I/Os
};

// One part of the record of kind "raw" and source "raw", with the facts {engine, targets,
// target_bytes, target_folders [a file was made in it], asked_rate, achieved_rate, measured_s, cpu
// {user_s, system_s}, lateness_p99_ns, lateness_max_ns, backlog, touched [the share of each
// stream's span that was reached, warm-up included], verified {blocks, bytes, corrupt, first},
// failure}. Blocks that verification finds corrupt make the record's verdict "fail". Returns when
// the last job has drained. The calling thread ticks the intervals and alone writes to the record,
// which it doesn't finish. An I/O error is a result, not an exception; throws UsageError as
// check_workload, and what IoEngine::open and Record throw.
RawResult run_raw(const IoWorkload& workload, std::span<RawTarget* const> targets, Record& record,
                  const RunHooks& hooks = {});

// "read of 4096 bytes at offset 8192 of /dev/sdb failed: Input/output error (EIO)"
std::string describe(const IoFailure& failure, std::span<RawTarget* const> targets);

}  // namespace plimsoll
