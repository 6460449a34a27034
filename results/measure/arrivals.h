// When the next operation is due.
#pragma once

#include <cstdint>
#include <random>

namespace plimsoll {

enum class ArrivalKind { kClosed, kConstant, kPoisson };

// An absolute schedule in ns. Constant: the n-th arrival (from 0) is start + (n + phase)/rate
// computed from n and rounded to the nearest ns, so that rounding never accumulates. Poisson: the
// first gap begins at the start; exponential gaps are summed in floating point with the whole ns
// carried exactly, so that a gap is never rounded. Rates are finite and above 0; made for 0.1/s to
// 2,000,000/s in all. Not thread-safe; one a thread, each with its share of the rate and its own
// phase or seed.
class Arrivals {
 public:
  static Arrivals closed();
  // `phase` in [0,1) shifts the first arrival by that part of a gap, so that threads don't start in
  // step.
  static Arrivals constant(double rate_per_s, std::int64_t start_ns, double phase = 0);
  static Arrivals poisson(double rate_per_s, std::int64_t start_ns, std::uint64_t seed);

  ArrivalKind kind() const { return kind_; }
  // The intended start of the next operation; `now_ns` itself for a closed loop. Does not advance.
  std::int64_t due_ns(std::int64_t now_ns) const noexcept {
    return kind_ == ArrivalKind::kClosed ? now_ns : next_ns_;
  }
  // The operation that was due has been taken.
  void advance() noexcept;

 private:
  Arrivals(ArrivalKind kind, double rate_per_s, std::int64_t start_ns);
  ArrivalKind kind_;
  void schedule_constant() noexcept;
  void add_poisson_gap() noexcept;

  long double gap_ns_ = 0;  // a double's rounding would show as a drift of 36 ns in 10 years
  double phase_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t next_ns_ = 0;
  std::uint64_t taken_ = 0;
  double fraction_ns_ = 0;
  std::mt19937_64 random_;
};

}  // namespace plimsoll
