#include "results/measure/arrivals.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace plimsoll {
namespace {

// Instants past this are never reached; a rate close to 0 must not overflow.
constexpr long double kNever_ns = 9e18L;

}  // namespace

Arrivals::Arrivals(ArrivalKind kind, double rate_per_s, std::int64_t start_ns)
    : kind_(kind), gap_ns_(1e9L / rate_per_s), start_ns_(start_ns), next_ns_(start_ns) {
  assert(rate_per_s > 0 && std::isfinite(rate_per_s));
}

Arrivals Arrivals::closed() {
  return {ArrivalKind::kClosed, 1, 0};
}

Arrivals Arrivals::constant(double rate_per_s, std::int64_t start_ns, double phase) {
  Arrivals arrivals(ArrivalKind::kConstant, rate_per_s, start_ns);
  arrivals.phase_ = phase;
  arrivals.schedule_constant();
  return arrivals;
}

Arrivals Arrivals::poisson(double rate_per_s, std::int64_t start_ns, std::uint64_t seed) {
  Arrivals arrivals(ArrivalKind::kPoisson, rate_per_s, start_ns);
  arrivals.random_.seed(seed);
  arrivals.add_poisson_gap();
  return arrivals;
}

void Arrivals::advance() noexcept {
  if (kind_ == ArrivalKind::kConstant) {
    ++taken_;
    schedule_constant();
  } else if (kind_ == ArrivalKind::kPoisson) {
    add_poisson_gap();
  }
}

void Arrivals::schedule_constant() noexcept {
  const long double offset_ns = (static_cast<long double>(taken_) + phase_) * gap_ns_;
  const long double room_ns = kNever_ns - static_cast<long double>(start_ns_);
  next_ns_ = start_ns_ + static_cast<std::int64_t>(std::min(offset_ns, room_ns) + 0.5L);
}

void Arrivals::add_poisson_gap() noexcept {
  // 53 random bits in (0, 1]: the logarithm is finite and the result the same on every library.
  const double uniform = static_cast<double>((random_() >> 11) + 1) * 0x1p-53;
  const double gap_ns = fraction_ns_ - std::log(uniform) * static_cast<double>(gap_ns_);
  const double room_ns = static_cast<double>(kNever_ns) - static_cast<double>(next_ns_);
  const auto whole_ns = static_cast<std::int64_t>(std::min(gap_ns, room_ns));
  fraction_ns_ = std::max(gap_ns - static_cast<double>(whole_ns), 0.0);
  next_ns_ += whole_ns;
}

}  // namespace plimsoll
