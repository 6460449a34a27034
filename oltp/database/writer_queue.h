// Who of one process's sessions writes next.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

namespace plimsoll {

// SQLite has one writer at a time and no queue for the others: each polls, and a session that
// writes again at once starves them for seconds, which would be shown as the drive's latency. Here
// they wait in order. A lock that is given back is handed to the first that has waited 1 ms or
// more; before that it may be taken by whoever comes, so that short transactions need no change of
// thread each. Thread-safe.
class WriterQueue {
 public:
  static constexpr std::int64_t kFairAfter_ns = 1'000'000;

  // False when it couldn't be had within `wait_ns`.
  bool acquire(std::int64_t wait_ns);
  void release();

 private:
  struct Waiter {
    std::condition_variable woken;
    std::int64_t since_ns = 0;
    bool granted = false;
  };

  std::mutex mutex_;
  std::deque<Waiter*> waiting_;
  bool held_ = false;
};

}  // namespace plimsoll
