// Log-linear latency histogram, and its exchange format.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

// Counts of values from 0 to 1 h in ns. Buckets are HdrHistogram's with 3 significant digits: 2048
// linear sub-buckets, then 1024 for each doubling, so that a bucket is at most value/1024 wide and
// its reported value at most 0.1 % off. Values over 1 h are counted apart in overflow() and
// included in count(), max() and the percentiles (as max()). Minimum, maximum and sum are exact
// while the histogram lives in memory; the sum of squares is a double's. Not thread-safe: one
// writer (see Recorder). Untouched buckets cost no memory (zero pages); reset, merge and copy touch
// only the used range. A moved-from histogram may only be destroyed or assigned to.
class Histogram {
 public:
  static constexpr std::int64_t kHighestTrackable_ns = 3'600'000'000'000;

  Histogram();
  ~Histogram();
  Histogram(const Histogram&);
  Histogram& operator=(const Histogram&);
  Histogram(Histogram&&) noexcept;
  Histogram& operator=(Histogram&&) noexcept;

  // Negative values are counted as 0; `times` is at least 1. Under 5 ns when the bucket is in
  // cache.
  void record(std::int64_t value_ns, std::uint64_t times = 1) noexcept {
    if (static_cast<std::uint64_t>(value_ns) > kHighestTrackable_ns) [[unlikely]] {
      record_outside(value_ns, times);
      return;
    }
    counts_[index_of(static_cast<std::uint64_t>(value_ns))] += times;
    count_ += times;
    sum_ += static_cast<Sum>(value_ns) * times;
    const auto value = static_cast<double>(value_ns);
    sum_squares_ += value * value * static_cast<double>(times);
    if (value_ns < min_) min_ = value_ns;
    if (value_ns > max_) max_ = value_ns;
  }
  void merge(const Histogram& other) noexcept;  // exact: counts and sums add
  void reset() noexcept;

  std::uint64_t count() const noexcept;     // overflow included
  std::uint64_t overflow() const noexcept;  // values over 1 h
  std::int64_t min() const noexcept;        // 0 when empty
  std::int64_t max() const noexcept;        // 0 when empty; exact even when over 1 h
  double mean() const noexcept;             // 0 when empty
  double stddev() const noexcept;           // of the population; 0 when empty
  double sum() const noexcept;

  // The value at or below which `percent` (0..100) of the counts lie: HdrHistogram's rule (the
  // highest value equivalent to the bucket that holds rank ceil(percent/100 * count)), clamped to
  // [min, max]; percent 0 is min. 0 when empty.
  std::int64_t percentile(double percent) const noexcept;

  // Count of values above `value_ns`, to bucket resolution.
  std::uint64_t count_above(std::int64_t value_ns) const noexcept;

  // Calls fn(lowest_ns, highest_ns, count) for every non-empty bucket in ascending order.
  template <typename Fn>
  void for_each_bucket(Fn&& fn) const {
    const auto [lowest, highest] = used();
    for (int index = lowest; index <= highest; ++index) {
      if (counts_[index] != 0) fn(lowest_of(index), highest_of(index), counts_[index]);
    }
  }

  // HdrHistogram V2, compressed (cookie 0x1c849304 + zlib of 0x1c849303): bytes, not base64.
  // Overflowing values are encoded in the last bucket (4,396 s), which decode() knows them by.
  std::string encode() const;
  // Any V2 histogram of 1..3 digits whose lowest discernible value is 1; minimum, maximum, mean and
  // deviation are then those of the buckets. Throws std::runtime_error on anything else.
  static Histogram decode(std::string_view bytes);
  // Restores what the buckets can't hold, from the columns stored beside the encoding. Minimum and
  // maximum are kept within their buckets. Nothing happens to an empty histogram.
  void restore_exact(std::int64_t min_ns, std::int64_t max_ns, double sum_ns, double sum_squares);
  double sum_squares() const noexcept;

 private:
  // 64 bits of nanoseconds would hold only 584 years of latency, all operations together.
  __extension__ using Sum = unsigned __int128;
  struct Range {
    int lowest;
    int highest;  // below `lowest` when no bucket is in use
  };

  static constexpr int kSubBucketBits = 11;
  static constexpr int kBuckets = 32;  // 2048 ns << 31 = 73 min
  static constexpr int kCounts = (kBuckets + 1) << (kSubBucketBits - 1);

  // The bucket's number is how far the value must be shifted to fit 11 bits; below 2048 it is 0.
  // From bucket 1 on only the upper half of the sub-buckets is used, hence the 10-bit stride.
  static int index_of(std::uint64_t value) noexcept {
    const int bucket = 64 - kSubBucketBits - std::countl_zero(value | ((1U << kSubBucketBits) - 1));
    return (bucket << (kSubBucketBits - 1)) + static_cast<int>(value >> bucket);
  }
  static std::int64_t lowest_of(int index) noexcept;
  static std::int64_t highest_of(int index) noexcept;

  void record_outside(std::int64_t value_ns, std::uint64_t times) noexcept;
  Range used() const noexcept;
  void give_back() noexcept;
  Histogram& take(Histogram& other) noexcept;

  std::uint64_t* counts_;  // kCounts, mapped; pages come into being when first written
  std::uint64_t count_ = 0;
  std::uint64_t overflow_ = 0;
  std::int64_t min_ = INT64_MAX;  // of the values in buckets
  std::int64_t max_ = 0;
  std::int64_t overflow_min_ = INT64_MAX;
  std::int64_t overflow_max_ = 0;
  Sum sum_ = 0;
  double sum_squares_ = 0;
};

}  // namespace plimsoll
