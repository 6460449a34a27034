// What is in the blocks that are written: how far a drive may compress and deduplicate them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rawio/workload/random.h"

namespace plimsoll {

// Shares in units of 4 KiB, the pages of drives and file systems (smaller blocks: the block).
struct ContentShares {
  double compress_percent = 0;  // of each unit, its tail, is zeros
  double dedupe_percent = 0;    // of the units are copies of one of 256
  bool plain() const noexcept { return compress_percent == 0 && dedupe_percent == 0; }
};

// Renews the content of buffers that were random once. Owned; one a job.
class BufferContent {
 public:
  static constexpr std::uint32_t kUnit_bytes = 4096;
  static constexpr std::uint32_t kCopies = 256;

  BufferContent(const ContentShares& shares, std::uint64_t copies_seed);

  // Makes already random data differ from all that was written before, in each 512 bytes of its
  // random part, at a 64th of the cost of filling; then gives it the shares asked.
  void refresh(std::byte* data, std::uint32_t bytes, Random& random) const noexcept {
    if (!plain_) return shape(data, bytes, random);
    for (std::uint32_t at = 0; at + sizeof(std::uint64_t) <= bytes; at += 512) {
      const std::uint64_t word = random.next();
      __builtin_memcpy(data + at, &word, sizeof(word));
    }
  }

 private:
  void shape(std::byte* data, std::uint32_t bytes, Random& random) const noexcept;

  bool plain_;
  double random_share_;
  std::uint64_t copy_threshold_;
  std::vector<std::byte> copies_;
};

}  // namespace plimsoll
