#include "oltp/workload/distribution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr int kGaussianTerms = 12;
constexpr double kSpecialShare = 0.75;
constexpr double kSpecialRows = 0.01;
constexpr double kParetoH = 0.2;
constexpr double kZipfExponent = 0.8;

// Rejection-inversion for zipf-like laws (W. Hoermann, G. Derflinger, "Rejection-inversion to
// generate variates from monotone discrete distributions", 1996): H is the integral of x^-s.
double zipf_integral(double x) {
  return (std::pow(x, 1 - kZipfExponent) - 1) / (1 - kZipfExponent);
}
double zipf_inverse(double y) {
  return std::pow(1 + y * (1 - kZipfExponent), 1 / (1 - kZipfExponent));
}
double zipf_density(double x) {
  return std::pow(x, -kZipfExponent);
}

}  // namespace

const std::vector<std::string_view>& random_kind_names() {
  static const std::vector<std::string_view> names = {"uniform", "special", "gaussian", "pareto",
                                                      "zipfian"};
  return names;
}

RandomKind parse_random_kind(std::string_view name) {
  const auto& names = random_kind_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw UsageError(
        fmt::format("'{}' is no distribution; there are {}", name, fmt::join(names, ", ")));
  }
  return static_cast<RandomKind>(found - names.begin());
}

Distribution::Distribution(RandomKind kind, std::int64_t n, bool scrambled, std::uint64_t seed)
    : kind_(kind), n_(n), scrambled_(scrambled), seed_(seed) {
  assert(n >= 1);
  half_bits_ = (std::bit_width(static_cast<std::uint64_t>(n)) + 1) / 2;
  zipf_low_ = zipf_integral(1.5) - 1;
  zipf_high_ = zipf_integral(static_cast<double>(n) + 0.5);
  zipf_squeeze_ = 2 - zipf_inverse(zipf_integral(2.5) - zipf_density(2));
}

std::int64_t Distribution::draw(Rng& rng) const noexcept {
  const std::int64_t row = draw_plain(rng);
  return scrambled_ ? scramble(row) : row;
}

std::int64_t Distribution::draw_plain(Rng& rng) const noexcept {
  switch (kind_) {
    case RandomKind::kSpecial:
      return draw_special(rng);
    case RandomKind::kGaussian:
      return draw_gaussian(rng);
    case RandomKind::kPareto:
      return draw_pareto(rng);
    case RandomKind::kZipfian:
      return draw_zipfian(rng);
    case RandomKind::kUniform:
      break;
  }
  return uniform(rng, 1, n_);
}

std::int64_t Distribution::draw_gaussian(Rng& rng) const noexcept {
  double sum = 0;
  for (int i = 0; i < kGaussianTerms; ++i) sum += uniform_real(rng);
  return 1 + static_cast<std::int64_t>(sum / kGaussianTerms * static_cast<double>(n_));
}

std::int64_t Distribution::draw_special(Rng& rng) const noexcept {
  if (uniform_real(rng) >= kSpecialShare) return draw_gaussian(rng);
  const auto rows =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n_) * kSpecialRows));
  const std::int64_t first = 1 + (n_ - rows) / 2;
  return uniform(rng, first, first + rows - 1);
}

std::int64_t Distribution::draw_pareto(Rng& rng) const noexcept {
  static const double kPower = std::log(kParetoH) / std::log(1 - kParetoH);
  const double place = std::pow(uniform_real(rng), kPower);
  return 1 + static_cast<std::int64_t>(place * static_cast<double>(n_));
}

std::int64_t Distribution::draw_zipfian(Rng& rng) const noexcept {
  for (;;) {
    const double u = zipf_high_ + uniform_real(rng) * (zipf_low_ - zipf_high_);
    const double x = zipf_inverse(u);
    const auto row = std::clamp<std::int64_t>(std::llround(x), 1, n_);
    const auto k = static_cast<double>(row);
    if (k - x <= zipf_squeeze_ || u >= zipf_integral(k + 0.5) - zipf_density(k)) return row;
  }
}

// A Feistel network permutes the next power of four; walking along its cycle until a value lies in
// range makes it a permutation of 1..n.
std::int64_t Distribution::scramble(std::int64_t row) const noexcept {
  const std::uint64_t mask = (1ULL << half_bits_) - 1;
  auto value = static_cast<std::uint64_t>(row - 1);
  do {
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = left ^ (mix_seed(seed_ + round, right) & mask);
      left = right;
      right = mixed;
    }
    value = (left << half_bits_) | right;
  } while (value >= static_cast<std::uint64_t>(n_));
  return static_cast<std::int64_t>(value) + 1;
}

std::string Distribution::name() const {
  static const std::vector<std::string> shapes = {
      "uniform", "special (75 % of accesses to the middle 1 %)", "gaussian",
      "pareto (80 % of accesses to 20 %)", "zipfian (exponent 0.8)"};
  return shapes[static_cast<std::size_t>(kind_)] + (scrambled_ ? ", scrambled" : "");
}

}  // namespace plimsoll
