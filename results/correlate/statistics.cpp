#include "results/correlate/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numeric>

namespace plimsoll {

namespace {

std::vector<double> centred(const std::vector<double>& values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  std::vector<double> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [mean](double value) { return value - mean; });
  return result;
}

double product_sum(const std::vector<double>& x, const std::vector<double>& y, std::size_t shift) {
  return std::inner_product(x.begin() + static_cast<std::ptrdiff_t>(shift), x.end(), y.begin(),
                            0.0);
}

struct Pairs {
  std::vector<double> target;
  std::vector<double> series;
};

Pairs pairs_at(const std::vector<std::optional<double>>& target,
               const std::vector<std::optional<double>>& series, int lag) {
  Pairs pairs;
  const auto size = static_cast<std::ptrdiff_t>(std::min(target.size(), series.size()));
  for (std::ptrdiff_t at = std::max(0, -lag); at < size && at + lag < size; ++at) {
    const auto& later = target[static_cast<std::size_t>(at + lag)];
    const auto& earlier = series[static_cast<std::size_t>(at)];
    if (!later || !earlier) continue;
    pairs.target.push_back(*later);
    pairs.series.push_back(*earlier);
  }
  return pairs;
}

std::vector<int> lags_by_size(int max_lag) {
  std::vector<int> lags{0};
  for (int lag = 1; lag <= max_lag; ++lag) lags.insert(lags.end(), {lag, -lag});
  return lags;
}

}  // namespace

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double shared = static_cast<double>(first + 1 + last) / 2;
    for (; first < last; ++first) result[order[first]] = shared;
  }
  return result;
}

std::optional<double> pearson(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() < 2 || x.size() != y.size()) return std::nullopt;
  const auto dx = centred(x);
  const auto dy = centred(y);
  const double scale = std::sqrt(product_sum(dx, dx, 0) * product_sum(dy, dy, 0));
  if (!(scale > 0)) return std::nullopt;
  return std::clamp(product_sum(dx, dy, 0) / scale, -1.0, 1.0);
}

double effective_pairs(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  if (x.size() < 4) return n;
  const auto dx = centred(x);
  const auto dy = centred(y);
  const double scale = product_sum(dx, dx, 0) * product_sum(dy, dy, 0);
  if (!(scale > 0)) return n;
  double sum = 0;
  for (std::size_t k = 1; k <= x.size() / 4; ++k) {
    const double product = product_sum(dx, dx, k) * product_sum(dy, dy, k) / scale;
    if (product <= 0) break;
    sum += (1 - static_cast<double>(k) / n) * product;
  }
  return std::max(1.0, n / (1 + 2 * sum));
}

double correlation_p(double rho, double pairs) {
  if (pairs <= 3) return 1;
  const double rest = 1 - rho * rho;
  if (rest < 1e-12) return std::min(1.0, 2 * std::exp(-boost::math::lgamma(pairs + 1)));
  const double t = std::abs(rho) * std::sqrt((pairs - 2) / rest);
  const boost::math::students_t distribution(pairs - 2);
  return 2 * boost::math::cdf(boost::math::complement(distribution, t));
}

ConfidenceInterval correlation_interval(double rho, double pairs) {
  if (pairs <= 4) return {-1, 1};
  const double z = std::atanh(std::clamp(rho, -1 + 1e-9, 1 - 1e-9));
  const double half = 1.959964 * std::sqrt((1 + rho * rho / 2) / (pairs - 3));
  return {std::tanh(z - half), std::tanh(z + half)};
}

std::vector<double> adjust_for_many(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return p_values[a] > p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  const auto count = static_cast<double>(p_values.size());
  double smallest = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double rank = count - static_cast<double>(i);
    smallest = std::min(smallest, p_values[order[i]] * count / rank);
    adjusted[order[i]] = smallest;
  }
  return adjusted;
}

LaggedCorrelation correlate_lagged(const std::vector<std::optional<double>>& target,
                                   const std::vector<std::optional<double>>& series, int max_lag) {
  using Outcome = LaggedCorrelation::Outcome;
  LaggedCorrelation best;
  best.n = pairs_at(target, series, 0).target.size();
  if (best.n < kMinPairs) return best;
  best.outcome = Outcome::kNoVariation;
  const auto lags = lags_by_size(max_lag);
  for (const int lag : lags) {
    const auto pairs = pairs_at(target, series, lag);
    const auto x = ranks(pairs.series);
    const auto y = ranks(pairs.target);
    const auto rho = pearson(x, y);
    if (!rho) continue;
    if (best.outcome == Outcome::kOk && std::abs(*rho) <= std::abs(best.rho)) continue;
    best = {Outcome::kOk, x.size(), *rho, lag, effective_pairs(x, y), {-1, 1}, 1};
  }
  if (best.outcome != Outcome::kOk) return best;
  best.interval = correlation_interval(best.rho, best.n_effective);
  best.p =
      std::min(1.0, correlation_p(best.rho, best.n_effective) * static_cast<double>(lags.size()));
  return best;
}

}  // namespace plimsoll
