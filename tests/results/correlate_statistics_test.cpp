#include "results/correlate/statistics.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/fakes/sample_records.h"

using namespace plimsoll;

namespace {

using Values = std::vector<std::optional<double>>;

Values noise_values(std::size_t n, std::uint64_t seed, double memory = 0) {
  fakes::Noise noise(seed);
  Values values;
  double last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    last = memory * last + noise.uniform() - 0.5;
    values.push_back(last);
  }
  return values;
}

}  // namespace

TEST_CASE("Ties share their mean rank") {
  CHECK(ranks({10, 20, 20, 5}) == std::vector<double>{2, 3.5, 3.5, 1});
  CHECK(ranks({7, 7, 7}) == std::vector<double>{2, 2, 2});
}

TEST_CASE("Spearman's rho equals the value computed by hand") {
  // The ranks differ by 0, 1, 1, 1, 1: 1 - 6 * 4 / (5 * 24) = 0.8.
  CHECK(*pearson(ranks({1, 2, 3, 4, 5}), ranks({10, 30, 20, 60, 50})) == Approx(0.8));
  // By 1, 1, 1, 1, 4: 1 - 6 * 20 / 120 = 0.
  CHECK(*pearson(ranks({1, 2, 3, 4, 5}), ranks({2, 3, 4, 5, 1})) == Approx(0).margin(1e-12));
  // With ties, Pearson of the mean ranks: x ranks 1 2.5 2.5 4, y ranks 1 2 3 4.
  CHECK(*pearson(ranks({1, 2, 2, 3}), ranks({1, 2, 3, 4})) == Approx(4.5 / std::sqrt(4.5 * 5)));
}

TEST_CASE("A constant series has no correlation, rather than nan") {
  CHECK_FALSE(pearson({1, 2, 3}, {4, 4, 4}).has_value());
  const auto result = correlate_lagged(noise_values(60, 1), Values(60, 4.0), 5);
  CHECK(result.outcome == LaggedCorrelation::Outcome::kNoVariation);
}

TEST_CASE("p of rho equals that of Student's t") {
  // r = 0.5, n = 20: t = 2.4495 with 18 degrees of freedom, two-sided p = 0.02477.
  CHECK(correlation_p(0.5, 20) == Approx(0.02477).epsilon(0.001));
  CHECK(correlation_p(0, 20) == Approx(1));
  CHECK(correlation_p(-0.5, 20) == correlation_p(0.5, 20));
  CHECK(correlation_p(0.9, 3) == 1);
  // A perfect order of 5: two of 5! = 120.
  CHECK(correlation_p(1, 5) == Approx(2.0 / 120));
}

TEST_CASE("The interval of rho is Fisher's with Bonett and Wright's variance") {
  // z = atanh(0.5) = 0.5493, half = 1.95996 * sqrt(1.125 / 25) = 0.41577.
  const auto interval = correlation_interval(0.5, 28);
  CHECK(interval.low == Approx(std::tanh(0.54931 - 0.41577)).epsilon(1e-4));
  CHECK(interval.high == Approx(std::tanh(0.54931 + 0.41577)).epsilon(1e-4));
}

TEST_CASE("Benjamini and Hochberg's example by hand") {
  const auto adjusted = adjust_for_many({0.01, 0.04, 0.03, 0.5});
  CHECK(adjusted[0] == Approx(0.04));
  CHECK(adjusted[1] == Approx(0.04 * 4 / 3));
  CHECK(adjusted[2] == Approx(0.04 * 4 / 3));
  CHECK(adjusted[3] == Approx(0.5));
}

TEST_CASE("Neighbours that resemble each other count as fewer pairs") {
  const auto plain = [](const Values& values) {
    std::vector<double> result;
    for (const auto& value : values) result.push_back(*value);
    return result;
  };
  const auto x = plain(noise_values(2000, 5, 0.8));
  const auto y = plain(noise_values(2000, 6, 0.8));
  // Of two AR(1) series: n (1 - a b) / (1 + a b) = 2000 * 0.36 / 1.64.
  CHECK(effective_pairs(x, y) == Approx(439).epsilon(0.25));
  CHECK(effective_pairs(plain(noise_values(2000, 5)), plain(noise_values(2000, 6))) > 1800);
}

TEST_CASE("A series that leads by three steps is found at lag 3") {
  const auto series = noise_values(80, 11);
  Values target(80);
  for (std::size_t i = 3; i < 80; ++i) target[i] = -*series[i - 3] * 100;
  const auto result = correlate_lagged(target, series, 5);
  REQUIRE(result.outcome == LaggedCorrelation::Outcome::kOk);
  CHECK(result.lag == 3);
  CHECK(result.rho == Approx(-1));
  CHECK(result.n == 77);
  CHECK(result.p < 1e-6);
}

TEST_CASE("Too few pairs are said to be too few") {
  auto series = noise_values(40, 3);
  for (std::size_t i = 0; i < 21; ++i) series[i] = std::nullopt;
  const auto result = correlate_lagged(noise_values(40, 4), series, 5);
  CHECK(result.outcome == LaggedCorrelation::Outcome::kTooFew);
  CHECK(result.n == 19);
}

TEST_CASE("Independent series are rarely significant, with memory or without") {
  for (const double memory : {0.0, 0.7, 0.95}) {
    int significant = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      const auto result = correlate_lagged(noise_values(60, seed, memory),
                                           noise_values(60, seed + 70000, memory), 5);
      significant += result.p <= 0.05;
    }
    INFO("memory " << memory);
    // 5 % and two standard deviations of 1,000 trials.
    CHECK(significant <= 64);
  }
}
