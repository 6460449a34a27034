// The threads of a run's jobs: open together, start together, end together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <latch>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "rawio/workload/io_job.h"

namespace plimsoll {

// Used by the control thread. The destructor stops the jobs and waits for them.
class JobThreads {
 public:
  JobThreads(std::vector<std::unique_ptr<IoJob>> jobs, const std::vector<int>& files);
  ~JobThreads();
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  // Starts the threads, each of which opens its engine and then waits for start(). Rethrows the
  // first that failed.
  void open();
  void start(const JobSchedule& schedule);
  void stop() noexcept { stop_.store(true); }

  // True once all jobs have ended; false at `deadline_ns` (Clock) or when `token` asks to stop for
  // the first time.
  bool wait_until(std::int64_t deadline_ns, const std::stop_token& token);

  const std::vector<std::unique_ptr<IoJob>>& jobs() const { return jobs_; }
  std::uint64_t asked_bytes() const noexcept;

 private:
  void run(IoJob& job);

  std::vector<std::unique_ptr<IoJob>> jobs_;
  std::vector<int> files_;
  JobSchedule schedule_{};
  std::atomic<bool> stop_{false};
  bool started_ = false;
  std::latch opened_;
  std::latch go_{1};
  std::mutex mutex_;  // of the two below
  std::size_t running_ = 0;
  std::exception_ptr error_;
  std::condition_variable_any ended_;
  std::vector<std::jthread> threads_;
};

}  // namespace plimsoll
