// Random numbers of the hot loop: 64 bits everywhere, so that no drive is too large for them.
#pragma once

#include <cstdint>

namespace plimsoll {

// xoshiro256++ (Blackman and Vigna, 2018), seeded by splitmix64: under 2 ns a draw, period 2^256-1.
// The same seed gives the same sequence on every machine. Not thread-safe: one a job.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept {
    for (auto& word : state_) word = splitmix(seed);
  }

  std::uint64_t next() noexcept {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound), without bias (Lemire 2019: multiply, reject the uneven rest). bound > 0.
  std::uint64_t below(std::uint64_t bound) noexcept {
    Wide product = static_cast<Wide>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t uneven = -bound % bound;
      while (static_cast<std::uint64_t>(product) < uneven) {
        product = static_cast<Wide>(next()) * bound;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static std::uint64_t rotate(std::uint64_t value, int bits) noexcept {
    return (value << bits) | (value >> (64 - bits));
  }
  static std::uint64_t splitmix(std::uint64_t& seed) noexcept {
    std::uint64_t word = seed += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }

  std::uint64_t state_[4];
};

}  // namespace plimsoll
