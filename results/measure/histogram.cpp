#include "results/measure/histogram.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

std::uint64_t* map_counts(std::size_t size_bytes) {
  void* pages = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  // One huge page would cost 2 MiB for the few buckets that a latency distribution fills.
  madvise(pages, size_bytes, MADV_NOHUGEPAGE);
  return static_cast<std::uint64_t*>(pages);
}

constexpr std::size_t bytes_of(int counts) {
  return static_cast<std::size_t>(counts) * sizeof(std::uint64_t);
}

// Counts that were given back, all zero. To read a long record is to decode and drop a histogram
// a second, of which the mapping and its first page faults would be the larger part.
class SpareCounts {
 public:
  static SpareCounts& instance() {
    static auto* spares = new SpareCounts;  // outlives every static histogram
    return *spares;
  }
  std::uint64_t* take() {
    const std::lock_guard lock(mutex_);
    if (spares_.empty()) return nullptr;
    std::uint64_t* counts = spares_.back();
    spares_.pop_back();
    return counts;
  }
  bool keep(std::uint64_t* counts) noexcept {
    const std::lock_guard lock(mutex_);
    if (spares_.size() == kMost) return false;
    spares_.push_back(counts);
    return true;
  }

 private:
  static constexpr std::size_t kMost = 8;  // 2 MiB when all their pages were used
  SpareCounts() { spares_.reserve(kMost); }
  std::mutex mutex_;
  std::vector<std::uint64_t*> spares_;
};

}  // namespace

Histogram::Histogram() : counts_(SpareCounts::instance().take()) {
  if (counts_ == nullptr) counts_ = map_counts(bytes_of(kCounts));
}

Histogram::~Histogram() {
  give_back();
}

void Histogram::give_back() noexcept {
  if (counts_ == nullptr) return;
  reset();
  if (!SpareCounts::instance().keep(counts_)) munmap(counts_, bytes_of(kCounts));
  counts_ = nullptr;
}

Histogram::Histogram(const Histogram& other) : Histogram() {
  merge(other);
}

Histogram& Histogram::operator=(const Histogram& other) {
  if (this == &other) return *this;
  if (counts_ == nullptr) return *this = Histogram(other);
  reset();
  merge(other);
  return *this;
}

Histogram::Histogram(Histogram&& other) noexcept : counts_(nullptr) {
  take(other);
}

Histogram& Histogram::operator=(Histogram&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  return take(other);
}

Histogram& Histogram::take(Histogram& other) noexcept {
  counts_ = std::exchange(other.counts_, nullptr);
  count_ = std::exchange(other.count_, 0);
  overflow_ = std::exchange(other.overflow_, 0);
  min_ = std::exchange(other.min_, INT64_MAX);
  max_ = std::exchange(other.max_, 0);
  overflow_min_ = std::exchange(other.overflow_min_, INT64_MAX);
  overflow_max_ = std::exchange(other.overflow_max_, 0);
  sum_ = std::exchange(other.sum_, 0);
  sum_squares_ = std::exchange(other.sum_squares_, 0);
  return *this;
}

Histogram::Range Histogram::used() const noexcept {
  if (count_ == overflow_) return {0, -1};
  return {index_of(static_cast<std::uint64_t>(min_)), index_of(static_cast<std::uint64_t>(max_))};
}

std::int64_t Histogram::lowest_of(int index) noexcept {
  constexpr int kHalf = 1 << (kSubBucketBits - 1);
  const int bucket = std::max((index >> (kSubBucketBits - 1)) - 1, 0);
  return static_cast<std::int64_t>(index - bucket * kHalf) << bucket;
}

std::int64_t Histogram::highest_of(int index) noexcept {
  return lowest_of(index + 1) - 1;
}

void Histogram::record_outside(std::int64_t value_ns, std::uint64_t times) noexcept {
  if (value_ns < 0) {
    record(0, times);
    return;
  }
  count_ += times;
  overflow_ += times;
  sum_ += static_cast<Sum>(value_ns) * times;
  const auto value = static_cast<double>(value_ns);
  sum_squares_ += value * value * static_cast<double>(times);
  overflow_min_ = std::min(overflow_min_, value_ns);
  overflow_max_ = std::max(overflow_max_, value_ns);
}

void Histogram::merge(const Histogram& other) noexcept {
  const auto [lowest, highest] = other.used();
  for (int index = lowest; index <= highest; ++index) counts_[index] += other.counts_[index];
  count_ += other.count_;
  overflow_ += other.overflow_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  overflow_min_ = std::min(overflow_min_, other.overflow_min_);
  overflow_max_ = std::max(overflow_max_, other.overflow_max_);
  sum_ += other.sum_;
  sum_squares_ += other.sum_squares_;
}

void Histogram::reset() noexcept {
  const auto [lowest, highest] = used();
  if (lowest <= highest) std::memset(counts_ + lowest, 0, bytes_of(highest - lowest + 1));
  count_ = overflow_ = 0;
  min_ = overflow_min_ = INT64_MAX;
  max_ = overflow_max_ = 0;
  sum_ = 0;
  sum_squares_ = 0;
}

std::uint64_t Histogram::count() const noexcept {
  return count_;
}
std::uint64_t Histogram::overflow() const noexcept {
  return overflow_;
}
std::int64_t Histogram::min() const noexcept {
  return count_ == 0 ? 0 : std::min(min_, overflow_min_);
}
std::int64_t Histogram::max() const noexcept {
  return std::max(max_, overflow_max_);
}
double Histogram::sum() const noexcept {
  return static_cast<double>(sum_);
}
double Histogram::sum_squares() const noexcept {
  return sum_squares_;
}

double Histogram::mean() const noexcept {
  return count_ == 0 ? 0 : sum() / static_cast<double>(count_);
}

double Histogram::stddev() const noexcept {
  if (count_ == 0) return 0;
  const double average = mean();
  // Rounding can leave a tiny negative variance when all values are equal.
  return std::sqrt(std::max(sum_squares_ / static_cast<double>(count_) - average * average, 0.0));
}

std::int64_t Histogram::percentile(double percent) const noexcept {
  if (count_ == 0 || percent <= 0) return min();
  // The next double below keeps a percent that has no exact double (99.9) from pushing an exact
  // rank to the next one.
  const double below = std::nextafter(std::min(percent, 100.0), 0.0);
  const double rank = std::ceil(below * static_cast<double>(count_) / 100.0);
  const auto wanted = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rank), 1, count_);
  std::uint64_t seen = 0;
  const auto [lowest, highest] = used();
  for (int index = lowest; index <= highest; ++index) {
    seen += counts_[index];
    if (seen >= wanted) return std::clamp(highest_of(index), min(), max());
  }
  return max();
}

std::uint64_t Histogram::count_above(std::int64_t value_ns) const noexcept {
  if (value_ns < 0) return count_;
  std::uint64_t above = overflow_max_ > value_ns ? overflow_ : 0;
  if (value_ns > kHighestTrackable_ns) return above;
  const auto [lowest, highest] = used();
  const int first = std::max(lowest, index_of(static_cast<std::uint64_t>(value_ns)) + 1);
  for (int index = first; index <= highest; ++index) above += counts_[index];
  return above;
}

void Histogram::restore_exact(std::int64_t min_ns, std::int64_t max_ns, double sum_ns,
                              double sum_squares) {
  if (count_ == 0) return;
  const auto [lowest, highest] = used();
  const bool in_buckets = lowest <= highest;
  if (in_buckets) min_ = std::clamp(min_ns, lowest_of(lowest), highest_of(lowest));
  if (overflow_ > 0) {
    overflow_max_ = std::max(max_ns, kHighestTrackable_ns + 1);
    overflow_min_ = in_buckets ? kHighestTrackable_ns + 1 : std::max(min_ns, overflow_min_);
  } else {
    max_ = std::clamp(max_ns, std::max(lowest_of(highest), min_), highest_of(highest));
  }
  sum_ = static_cast<Sum>(std::max(sum_ns, 0.0));
  sum_squares_ = sum_squares;
}

}  // namespace plimsoll
