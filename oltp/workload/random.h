// Random numbers that are the same on every machine for the same seed (the standard library's
// distributions are not).
#pragma once

#include <cstdint>
#include <random>

namespace plimsoll {

using Rng = std::mt19937_64;

// One generator's seed out of a run's seed and the generator's place (terminal, table, chunk).
inline std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t place) noexcept {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15ULL * (place + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A whole number in [low, high]; its bias is under (high - low) / 2^64.
inline std::int64_t uniform(Rng& rng, std::int64_t low, std::int64_t high) noexcept {
  const auto count = static_cast<unsigned __int128>(high - low) + 1;
  return low + static_cast<std::int64_t>((count * rng()) >> 64);
}

// In [0, 1).
inline double uniform_real(Rng& rng) noexcept {
  return static_cast<double>(rng() >> 11) * 0x1p-53;
}

}  // namespace plimsoll
