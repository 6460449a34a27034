// Completions an engine owes without the kernel: what ran inside submit, what the kernel refused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rawio/engine/io_engine.h"

namespace plimsoll {

// First in, first out, of a fixed capacity; never allocates after construction.
class CompletionQueue {
 public:
  explicit CompletionQueue(std::uint32_t capacity = 0) : ring_(capacity) {}

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t free() const noexcept { return static_cast<std::uint32_t>(ring_.size()) - size_; }

  // The caller has checked free().
  void push(const IoCompletion& completion) noexcept {
    std::uint32_t end = first_ + size_;
    if (end >= ring_.size()) end -= static_cast<std::uint32_t>(ring_.size());
    ring_[end] = completion;
    ++size_;
  }

  // Moves as many as there are and fit; returns how many.
  std::uint32_t pop(std::span<IoCompletion> into) noexcept {
    const auto count = std::min<std::uint32_t>(size_, static_cast<std::uint32_t>(into.size()));
    for (std::uint32_t i = 0; i < count; ++i) {
      into[i] = ring_[first_];
      if (++first_ == ring_.size()) first_ = 0;
    }
    size_ -= count;
    return count;
  }

 private:
  std::vector<IoCompletion> ring_;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace plimsoll
