#include "oltp/terminal/terminal.h"

#include <algorithm>

namespace plimsoll {
namespace {

// Sleeps end this often to see whether the run was stopped.
constexpr std::int64_t kStopCheck_ns = 50'000'000;
// Between two attempts to come back to a database that is away, times 0.5..1.5 by chance.
constexpr std::int64_t kReconnect_ns = 100'000'000;
// A transaction that meets a conflict as the time is up may be repeated for so long: as failed it
// would be held against the database, though only the time ran out.
constexpr std::int64_t kGrace_ns = 1'000'000'000;

void add_all(std::map<std::string, std::uint64_t>& into,
             const std::map<std::string, std::uint64_t>& from) {
  for (const auto& [code, count] : from) into[code] += count;
}

}  // namespace

void Tally::merge(const Tally& other) {
  committed += other.committed;
  user_rollbacks += other.user_rollbacks;
  retried += other.retried;
  failed += other.failed;
  retrying_ns += other.retrying_ns;
  add_all(errors, other.errors);
  add_all(retries, other.retries);
}

void TerminalShared::break_off(const DbError& error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
  queue.end_at(clock.now_ns());
}

std::optional<DbError> TerminalShared::broken_by() {
  const std::lock_guard lock(mutex_);
  return error_;
}

// A session that was idle during an outage notices late; that is no outage of its own.
void TerminalShared::lost(std::int64_t now_ns, std::int64_t connected_ns, const DbError& error) {
  const std::lock_guard lock(mutex_);
  if (lost_sessions_++ == 0 && connected_ns > last_outage_ns_) {
    outages_.push_back({now_ns, 0, 0, error});
    last_outage_ns_ = now_ns;
  }
  if (!outages_.empty()) ++outages_.back().sessions;
}

void TerminalShared::back(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (--lost_sessions_ == 0 && !outages_.empty() && outages_.back().end_ns == 0)
    outages_.back().end_ns = now_ns;
}

std::vector<Outage> TerminalShared::take_outages(bool all) {
  const std::lock_guard lock(mutex_);
  std::vector<Outage> taken;
  for (const Outage& outage : outages_) {
    if (all || outage.end_ns != 0) taken.push_back(outage);
  }
  std::erase_if(outages_, [all](const Outage& outage) { return all || outage.end_ns != 0; });
  return taken;
}

Terminal::Terminal(TerminalShared& shared, const Workload& workload,
                   std::unique_ptr<Session> session, int index, std::uint64_t seed)
    : shared_(shared),
      session_(std::move(session)),
      script_(workload.script(*session_, index)),
      rng_(mix_seed(seed, static_cast<std::uint64_t>(index))),
      connected_ns_(shared.clock.now_ns()),
      pause_rng_(rng_() + 1) {
  const std::size_t types = workload.transactions().size();
  for (std::size_t type = 0; type < types; ++type) {
    recorders_.push_back(std::make_unique<Recorder>());
  }
  for (auto& tallies : tallies_) tallies.resize(types);
}

void Terminal::run() {
  for (;;) {
    const std::size_t type = script_->draw(rng_);
    const std::int64_t now_ns = shared_.clock.now_ns();
    const auto intended_ns = shared_.queue.claim(now_ns);
    if (!intended_ns) return;
    const auto started_ns = wait_until(*intended_ns, now_ns);
    if (!started_ns) {
      shared_.queue.give_up();
      return;
    }
    run_one(type, *intended_ns, *started_ns);
  }
}

// The time it then is, without another reading when it is due already; empty when the deadline
// came first.
std::optional<std::int64_t> Terminal::wait_until(std::int64_t due_ns, std::int64_t now_ns) {
  while (now_ns < due_ns && now_ns < shared_.queue.deadline_ns()) {
    shared_.clock.sleep_until_ns(std::min(due_ns, now_ns + kStopCheck_ns));
    now_ns = shared_.clock.now_ns();
  }
  if (now_ns >= shared_.queue.deadline_ns()) return std::nullopt;
  return now_ns;
}

void Terminal::run_one(std::size_t type, std::int64_t intended_ns, std::int64_t started_ns) {
  std::int64_t attempt_ns = started_ns;
  std::int64_t finished_ns = 0;
  Outcome outcome = Outcome::kOk;
  Tally counts;
  for (int repeats = 0;; ++repeats) {
    outcome = script_->run();
    finished_ns = shared_.clock.now_ns();
    const std::string code = outcome == Outcome::kOk ? "" : session_->error().code;
    const bool connected = outcome != Outcome::kLost || come_back(finished_ns);
    if (!connected || !may_retry(outcome, repeats, finished_ns)) break;
    ++counts.retried;
    ++counts.retries[code];
    pause(repeats, finished_ns);
    attempt_ns = shared_.clock.now_ns();
  }
  counts.retrying_ns = attempt_ns - started_ns;
  account(outcome, type, {intended_ns, started_ns, finished_ns}, counts);
  if (outcome == Outcome::kInDoubt) come_back(finished_ns);
}

// False when the database isn't back at the deadline, or the run ends for it.
bool Terminal::come_back(std::int64_t now_ns) {
  shared_.lost(now_ns, connected_ns_, session_->error());
  if (shared_.on_outage == OnOutage::kEnd) {
    shared_.break_off(session_->error());
    return false;
  }
  Outcome outcome = session_->reconnect();
  while (outcome == Outcome::kLost) {
    now_ns = shared_.clock.now_ns();
    if (now_ns >= shared_.queue.deadline_ns()) return false;
    const std::int64_t wait_ns = uniform(pause_rng_, kReconnect_ns / 2, kReconnect_ns * 3 / 2);
    shared_.clock.sleep_until_ns(std::min(now_ns + wait_ns, shared_.queue.deadline_ns()));
    outcome = session_->reconnect();
  }
  if (outcome != Outcome::kOk) {
    shared_.break_off(session_->error());
    return false;
  }
  connected_ns_ = shared_.clock.now_ns();
  shared_.back(connected_ns_);
  return true;
}

bool Terminal::may_retry(Outcome outcome, int repeats, std::int64_t now_ns) const {
  const bool again = outcome == Outcome::kRetryable || outcome == Outcome::kLost;
  return again && repeats < shared_.retry.limit && now_ns - kGrace_ns < shared_.queue.deadline_ns();
}

void Terminal::pause(int repeats, std::int64_t now_ns) {
  shared_.repeats.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t step_ns =
      std::min(shared_.retry.first_wait_ns << std::min(repeats, 20), shared_.retry.longest_wait_ns);
  const std::int64_t until_ns = now_ns + uniform(pause_rng_, step_ns / 2, step_ns + step_ns / 2);
  shared_.clock.sleep_until_ns(std::min(until_ns - kGrace_ns, shared_.queue.deadline_ns()) +
                               kGrace_ns);
}

void Terminal::account(Outcome outcome, std::size_t type, const OpTiming& timing,
                       const Tally& counts) {
  Tally& tally = tallies_[shared_.measuring.load(std::memory_order_relaxed) ? 1 : 0][type];
  if (counts.retried > 0) tally.merge(counts);
  if (outcome == Outcome::kOk) {
    ++tally.committed;
    recorders_[type]->add(timing, 0);
    return;
  }
  if (outcome == Outcome::kUserRollback) {
    ++tally.user_rollbacks;
    return;
  }
  ++tally.failed;
  ++tally.errors[session_->error().code];
  recorders_[type]->add_error(static_cast<int>(outcome));
  if (outcome == Outcome::kFatal) shared_.break_off(session_->error());
}

}  // namespace plimsoll
