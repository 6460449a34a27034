// One run of a workload: terminals, warm-up, measured part, drain, record.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "oltp/database/database.h"
#include "oltp/terminal/terminal.h"
#include "oltp/workload/workload.h"
#include "results/base/progress.h"
#include "results/record/record.h"

namespace plimsoll {

struct OltpSpec {
  int threads = 1;  // terminals, each with a session; 1..10,000
  std::int64_t warmup_ns = 0;
  std::int64_t time_ns = 10'000'000'000;         // measured
  std::optional<double> rate_per_s;              // of all terminals; empty: closed loop
  ArrivalKind arrivals = ArrivalKind::kPoisson;  // with a rate
  std::int64_t interval_ns = 1'000'000'000;
  RetryPolicy retry;
  OnOutage on_outage = OnOutage::kGoOn;
  std::uint64_t seed = 1;
};

// Throws UsageError naming the option that is out of range.
void check_spec(const OltpSpec& spec);

// One interval that has ended; a cut of the run's time into such has no gaps.
struct OltpTick {
  std::int64_t start_ns;
  std::int64_t end_ns;
  bool measured;
};

// Called by the thread that called run_oltp. They may write to the record.
struct OltpHooks {
  ProgressSink progress;  // may be empty
  std::stop_token stop;
  std::function<void(const Part&, std::int64_t now_ns)> on_start;  // right before the terminals
  std::function<void(const Part&, const OltpTick&)> on_tick;       // before the tick is committed
};

struct OltpResult {
  Part part;                 // ended, with its facts
  bool interrupted = false;  // stopped by hooks.stop; saying so in the record is the caller's
};

// Runs until the time is over, `hooks.stop`, or the first fatal error. Transactions that run at the
// deadline are finished and counted, in the last interval, which is that much longer. Writes a part
// of kind "oltp": rows of source "oltp" with one operation a transaction type, points "repeats"
// and, with a rate, "overdue_ns"; events "stall" and "outage"; errors_by_code is by Outcome. Facts:
// threads, arrivals, asked_rate, achieved_rate, distribution, committed, user_rollbacks, retried,
// failed, errors, retries, retrying_s, reconnects, unstarted, client_cpu, transactions {name: the
// counts}.
// Throws Error before the part begins for what prevents a run; BrokenError, after the part has
// ended with all that was measured, for a fatal one.
OltpResult run_oltp(Database& database, const Workload& workload, const OltpSpec& spec,
                    Record& record, const std::string& part_name, const OltpHooks& hooks);

}  // namespace plimsoll
