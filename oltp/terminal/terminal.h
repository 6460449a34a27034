// The transaction loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "oltp/terminal/arrival_queue.h"
#include "oltp/workload/workload.h"
#include "results/measure/clock.h"
#include "results/measure/recorder.h"

namespace plimsoll {

struct RetryPolicy {
  int limit = 10;                        // repeats of one transaction; 0 never repeats
  std::int64_t first_wait_ns = 500'000;  // doubles with each repeat, times 0.5..1.5 by chance
  std::int64_t longest_wait_ns = 50'000'000;
};

// What became of transactions of one type. A retried transaction is counted once more in exactly
// one of committed, user_rollbacks and failed.
struct Tally {
  std::uint64_t committed = 0;
  std::uint64_t user_rollbacks = 0;
  std::uint64_t retried = 0;  // repeats, not transactions
  std::uint64_t failed = 0;
  std::int64_t retrying_ns = 0;  // spent in attempts that were repeated and in the waits after them
  std::map<std::string, std::uint64_t> errors;   // of failed, by the database's code
  std::map<std::string, std::uint64_t> retries;  // of retried, by the database's code
  void merge(const Tally& other);
};

// What to do when the database goes away: come back to it when it does, or end the run.
enum class OnOutage { kGoOn, kEnd };

// From the first session that was lost until all that were lost are back.
struct Outage {
  std::int64_t start_ns;
  std::int64_t end_ns;  // 0: not over
  int sessions = 0;     // that were lost
  DbError error;        // the first one's
};

// What terminals share with the thread that runs them.
struct TerminalShared {
  TerminalShared(Clock& run_clock, const RetryPolicy& policy,
                 OnOutage outage_policy = OnOutage::kGoOn)
      : clock(run_clock), retry(policy), on_outage(outage_policy) {}

  Clock& clock;
  const RetryPolicy retry;
  const OnOutage on_outage;
  ArrivalQueue queue;
  std::atomic<bool> measuring{false};
  std::atomic<std::uint64_t> repeats{0};  // all terminals', for the series

  // Keeps the first error that ends the run, and ends it.
  void break_off(const DbError& error);
  std::optional<DbError> broken_by();

  // A session that was connected since `connected_ns` found itself lost; is connected again.
  void lost(std::int64_t now_ns, std::int64_t connected_ns, const DbError& error);
  void back(std::int64_t now_ns);
  // The outages that are over since the last call; with `all` also one that isn't.
  std::vector<Outage> take_outages(bool all);

 private:
  std::mutex mutex_;
  std::optional<DbError> error_;
  std::vector<Outage> outages_;
  std::int64_t last_outage_ns_ = INT64_MIN;  // its start
  int lost_sessions_ = 0;
};

// One terminal: a session, its script, its recorders. run() in a thread of its own; the results
// after that thread has ended.
//
// Clock points: a closed loop intends a transaction when it starts it, after its input was drawn.
// An open loop intends it when it was due; the wait for a free terminal is part of response time.
// Service time begins at the first attempt; both end when the last attempt has, so both hold the
// failed attempts, the waits between and an outage that a transaction lasts through. Only committed
// transactions are in the histograms.
class Terminal {
 public:
  Terminal(TerminalShared& shared, const Workload& workload, std::unique_ptr<Session> session,
           int index, std::uint64_t seed);

  void run();
  Recorder& recorder(std::size_t type) { return *recorders_[type]; }
  // Of the measured part; the warm-up's are kept apart.
  const Tally& measured(std::size_t type) const { return tallies_[1][type]; }
  const Tally& warm_up(std::size_t type) const { return tallies_[0][type]; }

 private:
  std::optional<std::int64_t> wait_until(std::int64_t due_ns, std::int64_t now_ns);
  void run_one(std::size_t type, std::int64_t intended_ns, std::int64_t started_ns);
  bool may_retry(Outcome outcome, int repeats, std::int64_t now_ns) const;
  void pause(int repeats, std::int64_t now_ns);
  bool come_back(std::int64_t now_ns);
  void account(Outcome outcome, std::size_t type, const OpTiming& timing, const Tally& counts);

  TerminalShared& shared_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Script> script_;
  Rng rng_;
  std::int64_t connected_ns_;
  Rng pause_rng_;  // apart, so that retries don't change what is drawn
  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::vector<Tally> tallies_[2];
};

}  // namespace plimsoll
