// Every block of a span once, in an order that looks random, without memory for it.
#pragma once

#include <cstdint>

namespace plimsoll {

// A bijection of [0, size) chosen by `key`: a Feistel network over the smallest rectangle that
// holds `size`, so that no power of two, and with it no member of a RAID, is favoured. 64 bits
// throughout; 0 < size <= 2^63. Immutable.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key) noexcept;

  // index < size
  std::uint64_t at(std::uint64_t index) const noexcept;
  std::uint64_t size() const noexcept { return size_; }

 private:
  static constexpr int kRounds = 4;  // each mixes both halves
  std::uint64_t scramble(std::uint64_t index) const noexcept;

  std::uint64_t size_;
  std::uint64_t rows_;     // of the rectangle: about the root of size
  std::uint64_t columns_;  // rows x columns >= size
  std::uint64_t keys_[2 * kRounds];
};

}  // namespace plimsoll
