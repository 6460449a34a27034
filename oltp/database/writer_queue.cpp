#include "oltp/database/writer_queue.h"

#include <algorithm>
#include <chrono>

#include "results/measure/clock.h"

namespace plimsoll {

bool WriterQueue::acquire(std::int64_t wait_ns) {
  std::unique_lock lock(mutex_);
  if (!held_) return held_ = true;
  Waiter self;
  self.since_ns = SystemClock::instance().now_ns();
  waiting_.push_back(&self);
  const std::chrono::steady_clock::time_point deadline{
      std::chrono::nanoseconds(self.since_ns + wait_ns)};
  self.woken.wait_until(lock, deadline,
                        [&] { return self.granted || (!held_ && waiting_.front() == &self); });
  if (self.granted) return true;
  const bool was_first = waiting_.front() == &self;
  std::erase(waiting_, &self);
  if (held_) return false;
  if (was_first) return held_ = true;
  waiting_.front()->woken.notify_one();  // the lock is free and this one has given up
  return false;
}

void WriterQueue::release() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  if (waiting_.empty()) return;
  Waiter* first = waiting_.front();
  if (SystemClock::instance().now_ns() - first->since_ns >= kFairAfter_ns) {
    waiting_.pop_front();
    first->granted = true;
    held_ = true;
  }
  first->woken.notify_one();
}

}  // namespace plimsoll
