#include "rawio/workload/job_threads.h"

#include <chrono>

namespace plimsoll {

JobThreads::JobThreads(std::vector<std::unique_ptr<IoJob>> jobs, const std::vector<int>& files)
    : jobs_(std::move(jobs)), files_(files), opened_(static_cast<std::ptrdiff_t>(jobs_.size())) {}

JobThreads::~JobThreads() {
  stop();
  if (!started_) go_.count_down();
  threads_.clear();
}

void JobThreads::open() {
  running_ = jobs_.size();
  for (const auto& job : jobs_) threads_.emplace_back([this, &job] { run(*job); });
  opened_.wait();
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void JobThreads::start(const JobSchedule& schedule) {
  schedule_ = schedule;
  started_ = true;
  go_.count_down();
}

void JobThreads::run(IoJob& job) {
  try {
    job.open(files_);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stop();
  }
  opened_.count_down();
  go_.wait();
  if (!stop_.load()) job.run(schedule_, stop_);
  const std::lock_guard lock(mutex_);
  --running_;
  ended_.notify_all();
}

bool JobThreads::wait_until(std::int64_t deadline_ns, const std::stop_token& token) {
  const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
  const auto all_ended = [this] { return running_ == 0; };
  std::unique_lock lock(mutex_);
  if (stop_.load()) {  // asked already: the token would end every wait at once
    return ended_.wait_until(lock, deadline, all_ended);
  }
  return ended_.wait_until(lock, token, deadline, all_ended);
}

std::uint64_t JobThreads::asked_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& job : jobs_) bytes += job->asked_bytes();
  return bytes;
}

}  // namespace plimsoll
