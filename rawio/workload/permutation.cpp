#include "rawio/workload/permutation.h"

#include <cassert>
#include <cmath>

#include "rawio/workload/random.h"

namespace plimsoll {
namespace {

__extension__ using Wide = unsigned __int128;

// The finaliser of MurmurHash3: each bit of the word changes each bit of the result.
std::uint64_t mix(std::uint64_t word) noexcept {
  word = (word ^ (word >> 33)) * 0xff51afd7ed558ccd;
  word = (word ^ (word >> 33)) * 0xc4ceb9fe1a85ec53;
  return word ^ (word >> 33);
}

// `value` + a number below `bound` that the word gives, modulo `bound`; the multiply's bias is
// under bound / 2^64 and both are at most 2^32.
std::uint64_t turn(std::uint64_t value, std::uint64_t word, std::uint64_t bound) noexcept {
  const auto step = static_cast<std::uint64_t>(static_cast<Wide>(word) * bound >> 64);
  const std::uint64_t sum = value + step;
  return sum >= bound ? sum - bound : sum;
}

std::uint64_t root_above(std::uint64_t value) noexcept {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value)));
  while (static_cast<Wide>(root) * root < value) ++root;
  return root;
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key) noexcept
    : size_(size), rows_(root_above(size)), columns_((size + rows_ - 1) / rows_) {
  assert(size > 0 && size <= 1ull << 63);
  Random words(key);
  for (auto& word : keys_) word = words.next();
}

std::uint64_t Permutation::scramble(std::uint64_t index) const noexcept {
  std::uint64_t row = index / columns_;
  std::uint64_t column = index % columns_;
  for (int round = 0; round < kRounds; ++round) {
    row = turn(row, mix(column ^ keys_[2 * round]), rows_);
    column = turn(column, mix(row ^ keys_[2 * round + 1]), columns_);
  }
  return row * columns_ + column;
}

// The rectangle has fewer than a row more than `size`: the walk back into it is hardly ever taken.
std::uint64_t Permutation::at(std::uint64_t index) const noexcept {
  do {
    index = scramble(index);
  } while (index >= size_);
  return index;
}

}  // namespace plimsoll
