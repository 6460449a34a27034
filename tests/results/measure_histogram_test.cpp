#include "results/measure/histogram.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/catch.h"

using plimsoll::Histogram;

namespace {

struct Bucket {
  std::int64_t lowest;
  std::int64_t highest;
  std::uint64_t count;
  bool operator==(const Bucket&) const = default;
};

std::vector<Bucket> buckets(const Histogram& histogram) {
  std::vector<Bucket> all;
  histogram.for_each_bucket([&](std::int64_t lowest, std::int64_t highest, std::uint64_t count) {
    all.push_back({lowest, highest, count});
  });
  return all;
}

// Response times over nine decades, each as likely.
std::vector<std::int64_t> random_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(0, std::log(3.6e12));
  std::vector<std::int64_t> values(count);
  for (auto& value : values) value = static_cast<std::int64_t>(std::exp(exponent(random)));
  return values;
}

// What a histogram of only that value reports as its median, before the clamp to the maximum.
std::int64_t reported(std::int64_t value_ns) {
  static Histogram histogram;
  histogram.reset();
  histogram.record(value_ns);
  return buckets(histogram).at(0).highest;
}

void check_same(const Histogram& left, const Histogram& right) {
  CHECK(buckets(left) == buckets(right));
  CHECK(left.count() == right.count());
  CHECK(left.overflow() == right.overflow());
  CHECK(left.min() == right.min());
  CHECK(left.max() == right.max());
  CHECK(left.sum() == right.sum());
  CHECK(left.sum_squares() == Approx(right.sum_squares()).epsilon(1e-12));
}

}  // namespace

TEST_CASE("a histogram errs by at most 0.1 % from 1 ns to 1 h") {
  std::vector<std::int64_t> values;
  for (std::int64_t power = 1; power <= Histogram::kHighestTrackable_ns; power *= 2) {
    for (const std::int64_t value : {power - 1, power, power + 1}) values.push_back(value);
  }
  for (std::int64_t power = 1; power <= Histogram::kHighestTrackable_ns; power *= 10) {
    for (const std::int64_t value : {power - 1, power, power + 1}) values.push_back(value);
  }
  values.push_back(Histogram::kHighestTrackable_ns);
  for (const std::int64_t value : random_values(2000, 1)) values.push_back(value);
  for (const std::int64_t value : values) {
    if (value > Histogram::kHighestTrackable_ns) continue;
    const std::int64_t got = reported(value);
    INFO(value << " is reported as " << got);
    REQUIRE(got >= value);
    REQUIRE(static_cast<double>(got - value) <= 0.001 * static_cast<double>(value));
  }
}

TEST_CASE("the buckets of a histogram follow each other without gap or overlap") {
  Histogram histogram;
  for (std::int64_t value = 0; value <= Histogram::kHighestTrackable_ns;) {
    histogram.record(value);
    value = reported(value) + 1;
  }
  std::int64_t next = 0;
  for (const Bucket& bucket : buckets(histogram)) {
    REQUIRE(bucket.lowest == next);
    REQUIRE(bucket.count == 1);
    next = bucket.highest + 1;
  }
  CHECK(next > Histogram::kHighestTrackable_ns);
}

TEST_CASE("an empty histogram says 0 and nothing else") {
  const Histogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.min() == 0);
  CHECK(histogram.max() == 0);
  CHECK(histogram.mean() == 0);
  CHECK(histogram.stddev() == 0);
  CHECK(histogram.percentile(99) == 0);
  CHECK(histogram.count_above(0) == 0);
  CHECK(buckets(histogram).empty());
}

TEST_CASE("percentiles of a histogram are those of the sorted values") {
  std::vector<std::int64_t> values = random_values(20'000, 2);
  Histogram histogram;
  for (const std::int64_t value : values) histogram.record(value);
  std::sort(values.begin(), values.end());
  for (const double percent : {0.001, 1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent * 20'000 / 100.0));
    const auto exact = static_cast<double>(values[std::max<std::size_t>(rank, 1) - 1]);
    const auto got = static_cast<double>(histogram.percentile(percent));
    INFO(percent << " %: " << got << " for " << exact);
    CHECK(got >= exact);
    CHECK(got <= exact * 1.001);
  }
  CHECK(histogram.percentile(0) == values.front());
  CHECK(histogram.percentile(100) == values.back());
  CHECK(histogram.percentile(250) == values.back());
}

TEST_CASE("a percentile that falls exactly on a rank does not take the next") {
  Histogram histogram;
  for (int value = 1; value <= 1000; ++value) histogram.record(value);
  CHECK(histogram.percentile(99.9) == 999);
  CHECK(histogram.percentile(99) == 990);
  CHECK(histogram.percentile(50) == 500);
  CHECK(histogram.percentile(0.1) == 1);
  CHECK(histogram.percentile(0.10001) == 2);
}

// Elsewhere p99.99 was 17 s while the maximum was 94 s, or above the maximum.
TEST_CASE("a percentile never exceeds the maximum nor falls short of it when over range") {
  Histogram histogram;
  histogram.record(1'000'001);
  CHECK(histogram.percentile(99.99) == 1'000'001);
  histogram.record(94'000'000'000, 10);
  CHECK(histogram.percentile(99.99) == 94'000'000'000);
  CHECK(histogram.percentile(1) <= 1'001'000);
}

TEST_CASE("values over an hour are counted, shown and in the percentiles") {
  constexpr std::int64_t kTwoHours_ns = 2 * Histogram::kHighestTrackable_ns;
  Histogram histogram;
  histogram.record(Histogram::kHighestTrackable_ns);
  CHECK(histogram.overflow() == 0);
  histogram.record(Histogram::kHighestTrackable_ns + 1);
  histogram.record(kTwoHours_ns);
  histogram.record(5);
  CHECK(histogram.overflow() == 2);
  CHECK(histogram.count() == 4);
  CHECK(histogram.max() == kTwoHours_ns);
  CHECK(histogram.min() == 5);
  CHECK(histogram.percentile(75) == kTwoHours_ns);
  CHECK(histogram.percentile(50) >= Histogram::kHighestTrackable_ns);
  CHECK(histogram.count_above(6) == 3);
  CHECK(histogram.count_above(kTwoHours_ns) == 0);
  histogram.record(7);
  CHECK(buckets(histogram).size() == 3);
}

TEST_CASE("values below zero count as zero") {
  Histogram histogram;
  histogram.record(-5, 3);
  histogram.record(INT64_MIN);
  CHECK(histogram.count() == 4);
  CHECK(histogram.max() == 0);
  CHECK(buckets(histogram) == std::vector<Bucket>{{0, 0, 4}});
}

TEST_CASE("mean, deviation and sum are exact, not those of the buckets") {
  Histogram histogram;
  for (const std::int64_t value : {1'000'001, 3'000'003, 5'000'005}) histogram.record(value);
  CHECK(histogram.sum() == 9'000'009);
  CHECK(histogram.mean() == 3'000'003);
  CHECK(histogram.stddev() == Approx(std::sqrt(8.0 / 3.0) * 1'000'001).epsilon(1e-12));
  Histogram constant;
  constant.record(123'456'789, 1000);
  CHECK(constant.stddev() < 10);
}

TEST_CASE("a sum beyond 64 bits does not wrap") {
  Histogram histogram;
  histogram.record(Histogram::kHighestTrackable_ns, 100'000'000);
  CHECK(histogram.sum() == 3.6e20);
  CHECK(histogram.mean() == 3.6e12);
}

TEST_CASE("the parts of a histogram merge to the whole") {
  const std::vector<std::int64_t> values = random_values(50'000, 3);
  Histogram whole;
  std::vector<Histogram> parts(7);
  for (std::size_t i = 0; i < values.size(); ++i) {
    whole.record(values[i]);
    parts[i % parts.size()].record(values[i]);
  }
  whole.record(Histogram::kHighestTrackable_ns * 3);
  parts[4].record(Histogram::kHighestTrackable_ns * 3);
  Histogram merged;
  for (const Histogram& part : parts) merged.merge(part);
  check_same(merged, whole);
  merged.merge(Histogram());
  check_same(merged, whole);
}

TEST_CASE("a histogram can be copied, moved and reset") {
  Histogram original;
  for (const std::int64_t value : random_values(1000, 4)) original.record(value);
  const Histogram copy = original;
  check_same(copy, original);
  Histogram assigned;
  assigned.record(77);
  assigned = copy;
  check_same(assigned, original);
  Histogram moved = std::move(assigned);
  check_same(moved, original);
  assigned = copy;  // a moved-from histogram may be assigned to
  check_same(assigned, original);
  assigned = std::move(moved);
  check_same(assigned, original);
  original.reset();
  check_same(original, Histogram());
  original.record(1);
  CHECK(buckets(original) == std::vector<Bucket>{{1, 1, 1}});
}

TEST_CASE("count_above counts what lies above a bucket") {
  Histogram histogram;
  for (int value = 1; value <= 100; ++value) histogram.record(value);
  CHECK(histogram.count_above(90) == 10);
  CHECK(histogram.count_above(0) == 100);
  CHECK(histogram.count_above(-1) == 100);
  CHECK(histogram.count_above(100) == 0);
}
