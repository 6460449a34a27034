// Commit latency: append and flush by 1 to 64 committers, by each way to make a write durable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rawio/suites/commit_log.h"
#include "rawio/workload/run_raw.h"
#include "rawio/workload/target.h"
#include "results/record/record.h"

namespace plimsoll {

struct CommitCell {
  CommitMethod method = CommitMethod::kFdatasync;
  std::uint32_t committers = 1;
  bool grouped = false;
};

struct CommitPlan {
  std::vector<CommitCell> cells;
  std::uint32_t record_bytes = 8192;
  std::uint64_t span_offset_bytes = 0;
  std::uint64_t span_bytes = 0;  // 0: to the end of the target
  std::int64_t warm_up_ns = 0;   // of each cell
  std::int64_t runtime_ns = 1'000'000'000;
  std::int64_t interval_ns = 1'000'000'000;
  std::uint64_t seed = 1;
};

// All combinations, methods side by side.
std::vector<CommitCell> commit_cells(const std::vector<CommitMethod>& methods,
                                     const std::vector<std::uint32_t>& committers,
                                     const std::vector<bool>& grouped);

// "fdatasync x16 grouped".
std::string describe(const CommitCell& cell);

struct CommitResult {
  Part part;
  std::map<std::string, OpTotals> totals;  // "commit", "write", "flush"; of the measured part
  double measured_s = 0;
  int error_code = 0;  // errno of the first failure, which ended the cell
  std::uint64_t failed_offset = 0;
  bool interrupted = false;
};

// Throws UsageError, before any I/O: a record that is no multiple of the target's logical block, a
// span that doesn't hold what is under way, and the like.
void check_commit(const CommitPlan& plan, const TargetShape& target);

// One cell, as a part of the record of kind "raw" with the operations "commit" (from the wish to
// the record on the medium), "write" and "flush" (the system calls) and the facts {method,
// committers, grouped, record_bytes, measured_s, targets, commits_per_write}. The calling thread
// ticks the intervals and alone writes to the record. An I/O error is a result. Throws what Record
// throws.
CommitResult run_commit(const CommitPlan& plan, const CommitCell& cell, RawTarget& target,
                        Record& record, const RunHooks& hooks = {});

}  // namespace plimsoll
