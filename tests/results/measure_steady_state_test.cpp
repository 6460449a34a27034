#include "results/measure/steady_state.h"

#include "tests/catch.h"

using plimsoll::find_steady_state;
using plimsoll::SteadyState;

TEST_CASE("five equal rounds are steady at the fifth") {
  const SteadyState state = find_steady_state({500, 100, 100, 100, 100, 100});
  CHECK(state.reached);
  CHECK(state.first_round == 1);
  CHECK(state.last_round == 5);
  CHECK(state.average == 100);
  CHECK(state.range == 0);
  CHECK(state.slope == 0);
}

TEST_CASE("fewer rounds than a window are never steady") {
  CHECK_FALSE(find_steady_state({}).reached);
  CHECK_FALSE(find_steady_state({100, 100, 100, 100}).reached);
}

// A symmetric series has slope 0, so that only its range decides.
TEST_CASE("the range may be 20 % of the average and not more") {
  const SteadyState at = find_steady_state({100, 90, 110, 90, 110});
  CHECK(at.range == 20);
  const SteadyState inside = find_steady_state({90, 110, 100, 110, 90});
  CHECK(inside.slope == Approx(0).margin(1e-12));
  CHECK(inside.average == 100);
  CHECK(inside.reached);
  const SteadyState outside = find_steady_state({89.9, 110.1, 100, 110.1, 89.9});
  CHECK(outside.slope == Approx(0).margin(1e-12));
  CHECK(outside.range == Approx(20.2));
  CHECK_FALSE(outside.reached);
}

// A straight line of slope s has the excursion 4 s and the same range, so that only the slope
// decides.
TEST_CASE("the fitted line may rise or fall by 10 % of the average and not more") {
  for (const double sign : {1.0, -1.0}) {
    const auto line = [&](double slope) {
      return std::vector<double>{100 - 2 * sign * slope, 100 - sign * slope, 100,
                                 100 + sign * slope, 100 + 2 * sign * slope};
    };
    const SteadyState at = find_steady_state(line(2.5));
    CHECK(at.slope == Approx(2.5 * sign));
    CHECK(at.excursion == Approx(10));
    CHECK(at.reached);
    const SteadyState outside = find_steady_state(line(2.501));
    CHECK(outside.range < 20);
    CHECK_FALSE(outside.reached);
  }
}

TEST_CASE("the slope is that of the least-squares line, not of the ends") {
  const SteadyState state = find_steady_state({100, 104, 101, 103, 100});
  CHECK(state.slope == Approx(-0.1));
  CHECK(state.excursion == Approx(0.4));
}

TEST_CASE("the first window that meets the rule is taken, and a late one is found") {
  std::vector<double> rounds;
  for (int round = 0; round < 12; ++round) rounds.push_back(1000.0 / (round + 1));
  CHECK_FALSE(find_steady_state(rounds).reached);
  CHECK(find_steady_state(rounds).last_round == 11);
  for (int round = 0; round < 8; ++round) rounds.push_back(80);
  const SteadyState state = find_steady_state(rounds);
  CHECK(state.reached);
  CHECK(state.last_round == 15);  // 90.9, 83.3, 80, 80, 80, 80: the first 5 within both limits
}

TEST_CASE("rounds past the last allowed one are not looked at") {
  std::vector<double> rounds;
  for (int round = 0; round < 21; ++round) rounds.push_back(round % 2 == 0 ? 50 : 150);
  for (int round = 0; round < 5; ++round) rounds.push_back(100);
  CHECK_FALSE(find_steady_state(rounds).reached);  // steady in round 26 of at most 25
  CHECK(find_steady_state(rounds).last_round == 24);
  rounds.erase(rounds.begin());
  CHECK(find_steady_state(rounds).reached);
}

TEST_CASE("a device that does nothing is not steady") {
  CHECK_FALSE(find_steady_state({0, 0, 0, 0, 0}).reached);
  CHECK_FALSE(find_steady_state({-5, -5, -5, -5, -5}).reached);
}
