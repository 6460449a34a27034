// Memory that requests move their data in and out of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rawio/workload/random.h"

namespace plimsoll {

// `slots` equal parts, aligned to the page and resident, filled with random data. Owned; one job.
class IoBuffers {
 public:
  // Throws RefusedError when there is no memory for it.
  IoBuffers(std::uint32_t slots, std::uint32_t slot_bytes, Random& random);
  ~IoBuffers();
  IoBuffers(const IoBuffers&) = delete;
  IoBuffers& operator=(const IoBuffers&) = delete;

  std::span<std::byte> all() const { return {data_, bytes_}; }
  std::byte* slot(std::uint32_t slot) const { return data_ + slot * slot_bytes_; }

 private:
  std::size_t slot_bytes_;  // rounded up to the page
  std::size_t bytes_;
  std::byte* data_;
};

// Fills with random data, which no drive compresses or finds a copy of.
void fill_random(std::span<std::byte> bytes, Random& random) noexcept;

// Makes already random data differ from all that was written before, at a 64th of the cost of
// filling: a new word in each 512 bytes.
inline void refresh_random(std::byte* data, std::uint32_t bytes, Random& random) noexcept {
  for (std::uint32_t at = 0; at + sizeof(std::uint64_t) <= bytes; at += 512) {
    const std::uint64_t word = random.next();
    __builtin_memcpy(data + at, &word, sizeof(word));
  }
}

}  // namespace plimsoll
