#include "oltp/terminal/arrival_queue.h"

#include <algorithm>
#include <utility>

namespace plimsoll {

void ArrivalQueue::open(Arrivals arrivals) {
  arrivals_ = std::move(arrivals);
  deadline_ns_ = INT64_MAX;
}

std::optional<std::int64_t> ArrivalQueue::claim(std::int64_t now_ns) {
  const std::int64_t deadline = deadline_ns();
  if (now_ns >= deadline) return std::nullopt;
  if (arrivals_.kind() == ArrivalKind::kClosed) return now_ns;
  const std::lock_guard lock(mutex_);
  const std::int64_t due = arrivals_.due_ns(now_ns);
  if (due >= deadline) return std::nullopt;
  arrivals_.advance();
  return due;
}

void ArrivalQueue::end_at(std::int64_t deadline_ns) noexcept {
  std::int64_t current = deadline_ns_.load(std::memory_order_relaxed);
  while (deadline_ns < current &&
         !deadline_ns_.compare_exchange_weak(current, deadline_ns, std::memory_order_relaxed)) {
  }
}

std::int64_t ArrivalQueue::overdue_ns(std::int64_t now_ns) {
  if (arrivals_.kind() == ArrivalKind::kClosed) return 0;
  const std::lock_guard lock(mutex_);
  return std::max<std::int64_t>(0, now_ns - arrivals_.due_ns(now_ns));
}

std::uint64_t ArrivalQueue::count_unstarted() {
  std::uint64_t count = given_up_.load();
  if (arrivals_.kind() == ArrivalKind::kClosed) return count;
  const std::lock_guard lock(mutex_);
  for (; arrivals_.due_ns(0) < deadline_ns(); arrivals_.advance()) ++count;
  return count;
}

}  // namespace plimsoll
