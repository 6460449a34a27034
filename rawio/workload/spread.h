// How often which block is asked: from uniform to a few hot spots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rawio/workload/permutation.h"
#include "rawio/workload/random.h"

namespace plimsoll {

enum class SpreadKind { kUniform, kZipf, kPareto, kNormal, kZoned };

// So many percent of the accesses go to so many percent of the span, one zone after the other.
struct Zone {
  double access_percent;
  double size_percent;
};

struct Spread {
  SpreadKind kind = SpreadKind::kUniform;
  // zipf: the exponent theta (over 0; 1.2 is usual). pareto: h in (0, 0.5): a share 1 - h of the
  // accesses goes to a share h of the blocks. normal: the standard deviation in percent of the
  // span.
  double parameter = 0;
  std::vector<Zone> zones = {};
};

// fio's random_distribution: "random", "zipf:1.2", "pareto:0.2", "normal:20", "zoned:60/10:40/90".
// Throws UsageError that says what it takes.
Spread parse_spread(const std::string& text);
// The same text back.
std::string describe(const Spread& spread);

// Draws block numbers in [0, blocks). The ranks of zipf and pareto are spread over the blocks by a
// permutation of `key`, so that the hot ones don't lie side by side; jobs of the same key have the
// same hot blocks. Normal has its peak in the middle. Not thread-safe: one a job.
class BlockDraw {
 public:
  BlockDraw(const Spread& spread, std::uint64_t blocks, std::uint64_t key);
  std::uint64_t draw(Random& random) noexcept;

 private:
  struct Range {
    std::uint64_t threshold;  // drawn when a random word is at or under it; ascending
    std::uint64_t first;
    std::uint64_t blocks;
  };
  void set_zones(const std::vector<Zone>& zones);
  std::uint64_t draw_zipf(Random& random) const noexcept;
  std::uint64_t draw_pareto(Random& random) const noexcept;
  std::uint64_t draw_normal(Random& random) const noexcept;
  std::uint64_t draw_zone(Random& random) const noexcept;

  SpreadKind kind_;
  double parameter_;
  std::uint64_t blocks_;
  Permutation places_;
  double zipf_first_ = 0;  // integrals of the density's hat, see draw_zipf
  double zipf_last_ = 0;
  double zipf_shift_ = 0;
  double pareto_power_ = 0;
  std::vector<Range> ranges_;
};

}  // namespace plimsoll
