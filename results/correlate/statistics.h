// Rank correlation that says how much it knows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace plimsoll {

// Ranks from 1, ties sharing their mean rank.
std::vector<double> ranks(const std::vector<double>& values);

// Pearson's r; empty when either side does not vary or there are fewer than two pairs. Applied to
// ranks it is Spearman's rho, ties included.
std::optional<double> pearson(const std::vector<double>& x, const std::vector<double>& y);

// How many independent pairs the n dependent ones are worth (Bartlett 1935; Bretherton et al.
// 1999): n / (1 + 2 sum over k of (1 - k/n) r_x(k) r_y(k)), summed while the product of the two
// autocorrelations is positive, at most n/4 terms. In [1, n]. Equal lengths required.
double effective_pairs(const std::vector<double>& x, const std::vector<double>& y);

// Two-sided p of rho with that many independent pairs: Student's t with pairs - 2 degrees of
// freedom; for |rho| = 1 the probability of a perfect order, 2 / pairs!. 1 for 3 pairs or fewer.
double correlation_p(double rho, double pairs);

struct ConfidenceInterval {
  double low;
  double high;
};
// 95 % interval of Spearman's rho: Fisher's z with the variance (1 + rho^2/2) / (pairs - 3) of
// Bonett & Wright (2000). [-1, 1] for 4 pairs or fewer.
ConfidenceInterval correlation_interval(double rho, double pairs);

// Benjamini & Hochberg (1995) adjusted p values, in the order given.
std::vector<double> adjust_for_many(const std::vector<double>& p_values);

struct LaggedCorrelation {
  enum class Outcome { kOk, kTooFew, kNoVariation };
  Outcome outcome = Outcome::kTooFew;
  std::size_t n = 0;  // pairs at the lag chosen; at lag 0 when not ok
  double rho = 0;
  int lag = 0;  // steps by which `target` comes after `series`
  double n_effective = 0;
  ConfidenceInterval interval{-1, 1};  // for the lag chosen
  double p = 1;                        // times the number of lags tried, at most 1
};

constexpr std::size_t kMinPairs = 20;

// Spearman's rho of series[t] against target[t + lag] at the lag within +-max_lag where |rho| is
// largest, the smaller lag on a tie; steps where either is empty are left out.
LaggedCorrelation correlate_lagged(const std::vector<std::optional<double>>& target,
                                   const std::vector<std::optional<double>>& series, int max_lag);

}  // namespace plimsoll
