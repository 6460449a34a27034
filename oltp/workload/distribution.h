// Which rows a workload touches how often.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oltp/workload/random.h"

namespace plimsoll {

// Row numbers 1..n. The kinds and their constants are sysbench's defaults:
//   uniform   every row alike
//   special   75 % of accesses uniform over the middle 1 %, the rest as gaussian
//   gaussian  the mean of 12 uniform numbers over 1..n
//   pareto    1 + n * u^(log h / log(1 - h)), h = 0.2: 80 % of accesses to the first 20 %
//   zipfian   probability of row k proportional to k^-0.8
// Hot rows of all but uniform lie side by side. Scrambled, the same frequencies go to rows spread
// over the whole table by a permutation that depends on the seed only.
enum class RandomKind { kUniform, kSpecial, kGaussian, kPareto, kZipfian };

const std::vector<std::string_view>& random_kind_names();
RandomKind parse_random_kind(std::string_view name);  // throws UsageError naming those there are

// Immutable, so that threads share it; each draws with its own generator.
class Distribution {
 public:
  Distribution(RandomKind kind, std::int64_t n, bool scrambled = false, std::uint64_t seed = 0);

  std::int64_t draw(Rng& rng) const noexcept;
  // "special (75 % of accesses to 1 %), scrambled": for the summary and the record.
  std::string name() const;
  // The permutation of 1..n that scrambling applies.
  std::int64_t scramble(std::int64_t row) const noexcept;

 private:
  std::int64_t draw_gaussian(Rng& rng) const noexcept;
  std::int64_t draw_special(Rng& rng) const noexcept;
  std::int64_t draw_pareto(Rng& rng) const noexcept;
  std::int64_t draw_zipfian(Rng& rng) const noexcept;
  std::int64_t draw_plain(Rng& rng) const noexcept;

  RandomKind kind_;
  std::int64_t n_;
  bool scrambled_;
  std::uint64_t seed_;
  int half_bits_;  // of the permutation's two halves
  double zipf_low_, zipf_high_, zipf_squeeze_;
};

}  // namespace plimsoll
