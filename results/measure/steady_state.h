// SNIA's steady-state rule.
#pragma once

#include <cstddef>
#include <vector>

namespace plimsoll {

struct SteadyStateRule {
  std::size_t window = 5;       // rounds
  double max_range = 0.20;      // (max - min) <= this x average
  double max_excursion = 0.10;  // |slope| x (window - 1) <= this x average
  std::size_t max_rounds = 25;
};

// The window that met the rule, or the last one looked at. With fewer rounds than a window none was
// looked at: last_round is 0.
struct SteadyState {
  bool reached = false;
  std::size_t first_round = 0;  // of the window, counted from 0
  std::size_t last_round = 0;
  double average = 0;
  double range = 0;      // max - min
  double slope = 0;      // a round, least squares
  double excursion = 0;  // |slope| x (window - 1)
};

// Looks at the windows ending at each round in turn and stops at the first that meets the rule.
// Limits are inclusive; an average of 0 or less never meets it.
SteadyState find_steady_state(const std::vector<double>& rounds, const SteadyStateRule& rule = {});

}  // namespace plimsoll
