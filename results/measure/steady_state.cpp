#include "results/measure/steady_state.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace plimsoll {
namespace {

// Slope of the least-squares line through (0, y0), (1, y1), ...
double least_squares_slope(const double* y, std::size_t n, double average) {
  const double middle = static_cast<double>(n - 1) / 2;
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i) - middle;
    products += x * (y[i] - average);
    squares += x * x;
  }
  return products / squares;
}

SteadyState look_at(const std::vector<double>& rounds, std::size_t first,
                    const SteadyStateRule& rule) {
  const double* window = rounds.data() + first;
  const double* end = window + rule.window;
  const auto [least, most] = std::minmax_element(window, end);
  SteadyState state;
  state.first_round = first;
  state.last_round = first + rule.window - 1;
  state.average = std::accumulate(window, end, 0.0) / static_cast<double>(rule.window);
  state.range = *most - *least;
  state.slope = least_squares_slope(window, rule.window, state.average);
  state.excursion = std::abs(state.slope) * static_cast<double>(rule.window - 1);
  state.reached = state.average > 0 && state.range <= rule.max_range * state.average &&
                  state.excursion <= rule.max_excursion * state.average;
  return state;
}

}  // namespace

SteadyState find_steady_state(const std::vector<double>& rounds, const SteadyStateRule& rule) {
  assert(rule.window >= 2);
  SteadyState state;
  const std::size_t last = std::min(rounds.size(), rule.max_rounds);
  for (std::size_t end = rule.window; end <= last && !state.reached; ++end) {
    state = look_at(rounds, end - rule.window, rule);
  }
  return state;
}

}  // namespace plimsoll
