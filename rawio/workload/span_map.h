// How much of a span was reached, for a few ns an I/O.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace plimsoll {

// Marks which of up to 4,096 equal regions of a span an I/O touched; regions of a small span are no
// smaller than its block. So a generator that misses a part of a large drive shows. One writer.
class SpanMap {
 public:
  // Both over 0.
  SpanMap(std::uint64_t span_bytes, std::uint64_t block_bytes) noexcept
      : shift_(std::max(std::bit_width((span_bytes - 1) >> 12), std::bit_width(block_bytes) - 1)),
        regions_(((span_bytes - 1) >> shift_) + 1) {}

  // 0 < bytes, within the span.
  void mark(std::uint64_t offset, std::uint32_t bytes) noexcept {
    const std::uint64_t last = (offset + bytes - 1) >> shift_;
    for (std::uint64_t region = offset >> shift_; region <= last; ++region) {
      words_[region / 64] |= 1ull << (region % 64);
    }
  }
  // Of the same span and block.
  void merge(const SpanMap& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  std::uint64_t regions() const noexcept { return regions_; }
  std::uint64_t touched() const noexcept {
    std::uint64_t count = 0;
    for (const auto word : words_) count += static_cast<std::uint64_t>(std::popcount(word));
    return count;
  }

 private:
  int shift_;
  std::uint64_t regions_;
  std::array<std::uint64_t, 64> words_{};
};

}  // namespace plimsoll
