#include <cmath>
#include <map>
#include <set>

#include "oltp/workload/distribution.h"
#include "results/base/error.h"
#include "tests/catch.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kRows = 10'000;
constexpr int kDraws = 200'000;

std::map<std::int64_t, int> counts(const Distribution& distribution, std::uint64_t seed = 1) {
  Rng rng(seed);
  std::map<std::int64_t, int> found;
  for (int i = 0; i < kDraws; ++i) ++found[distribution.draw(rng)];
  REQUIRE(found.begin()->first >= 1);
  REQUIRE(found.rbegin()->first <= kRows);
  return found;
}

// Of all draws, those in rows [low, high].
double share(const std::map<std::int64_t, int>& counts, std::int64_t low, std::int64_t high) {
  double sum = 0;
  for (auto at = counts.lower_bound(low); at != counts.end() && at->first <= high; ++at) {
    sum += at->second;
  }
  return sum / kDraws;
}

}  // namespace

TEST_CASE("uniform touches every row alike") {
  const auto found = counts(Distribution(RandomKind::kUniform, kRows));
  double chi2 = 0;
  const double expected = static_cast<double>(kDraws) / kRows;
  for (std::int64_t row = 1; row <= kRows; ++row) {
    const auto at = found.find(row);
    const double difference = (at == found.end() ? 0 : at->second) - expected;
    chi2 += difference * difference / expected;
  }
  CHECK(std::abs(chi2 - kRows) < 5 * std::sqrt(2.0 * kRows));
}

TEST_CASE("special sends three quarters to the middle hundredth") {
  const auto found = counts(Distribution(RandomKind::kSpecial, kRows));
  // And of the other quarter, gaussian with deviation n / 12, those that fall there.
  const double gaussian_there = 0.01 * 12 / std::sqrt(2 * M_PI);
  CHECK(share(found, 4951, 5050) == Approx(0.75 + 0.25 * gaussian_there).margin(0.005));
}

TEST_CASE("gaussian is centred, with a twelfth of the table as deviation") {
  const auto found = counts(Distribution(RandomKind::kGaussian, kRows));
  CHECK(share(found, 1, kRows / 2) == Approx(0.5).margin(0.01));
  CHECK(share(found, kRows / 2 - kRows / 12, kRows / 2 + kRows / 12) == Approx(0.683).margin(0.01));
}

TEST_CASE("pareto sends four fifths to the first fifth") {
  const auto found = counts(Distribution(RandomKind::kPareto, kRows));
  CHECK(share(found, 1, kRows / 5) == Approx(0.8).margin(0.005));
}

TEST_CASE("zipfian falls with the row's number to the power of 0.8") {
  const auto found = counts(Distribution(RandomKind::kZipfian, kRows));
  double harmonic = 0;
  double first_hundred = 0;
  for (std::int64_t row = 1; row <= kRows; ++row) {
    harmonic += std::pow(static_cast<double>(row), -0.8);
    if (row == 100) first_hundred = harmonic;
  }
  CHECK(share(found, 1, 1) == Approx(1 / harmonic).margin(0.002));
  CHECK(share(found, 2, 2) == Approx(std::pow(2, -0.8) / harmonic).margin(0.002));
  CHECK(share(found, 1, 100) == Approx(first_hundred / harmonic).margin(0.005));
}

TEST_CASE("scrambling is a permutation, the same for the same seed") {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 63, 64, 65, 1000}) {
    const Distribution one(RandomKind::kZipfian, n, true, 7);
    const Distribution again(RandomKind::kZipfian, n, true, 7);
    std::set<std::int64_t> rows;
    for (std::int64_t row = 1; row <= n; ++row) {
      REQUIRE(one.scramble(row) == again.scramble(row));
      rows.insert(one.scramble(row));
    }
    CHECK(rows.size() == static_cast<std::size_t>(n));
    CHECK(*rows.begin() == 1);
    CHECK(*rows.rbegin() == n);
  }
}

TEST_CASE("scrambled, the hot rows keep their heat and lie all over the table") {
  const Distribution plain(RandomKind::kPareto, kRows);
  const Distribution scrambled(RandomKind::kPareto, kRows, true, 3);
  const auto hot = counts(plain);
  const auto spread = counts(scrambled);
  for (std::int64_t row = 1; row <= 3; ++row) {
    CHECK(spread.at(scrambled.scramble(row)) == hot.at(row));
  }
  CHECK(share(spread, 1, kRows / 5) < 0.5);
  const Distribution other(RandomKind::kPareto, kRows, true, 4);
  int same = 0;
  for (std::int64_t row = 1; row <= 1000; ++row) {
    same += other.scramble(row) == scrambled.scramble(row) ? 1 : 0;
  }
  CHECK(same < 10);
}

TEST_CASE("a table of one row is drawn from") {
  for (std::size_t kind = 0; kind < random_kind_names().size(); ++kind) {
    Rng rng(1);
    const Distribution distribution(static_cast<RandomKind>(kind), 1);
    for (int i = 0; i < 100; ++i) REQUIRE(distribution.draw(rng) == 1);
  }
}

TEST_CASE("distributions go by sysbench's names, and an unknown one is told them") {
  CHECK(parse_random_kind("special") == RandomKind::kSpecial);
  CHECK_THROWS_WITH(parse_random_kind("normal"), ContainsSubstring("gaussian"));
}

}  // namespace plimsoll
