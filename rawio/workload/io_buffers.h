// Memory that requests move their data in and out of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rawio/workload/random.h"

namespace plimsoll {

// `slots` equal parts, aligned to the page and resident, filled with random data. With
// `apart` each has a second half for what is written, so that what was read (zeros, perhaps) never
// becomes what is written. Owned; one job.
class IoBuffers {
 public:
  // Throws RefusedError when there is no memory for it.
  IoBuffers(std::uint32_t slots, std::uint32_t block_bytes, Random& random, bool apart = false);
  ~IoBuffers();
  IoBuffers(const IoBuffers&) = delete;
  IoBuffers& operator=(const IoBuffers&) = delete;

  std::span<std::byte> all() const { return {data_, bytes_}; }
  std::byte* slot(std::uint32_t slot) const { return data_ + slot * slot_bytes_; }
  std::byte* written_slot(std::uint32_t slot) const { return this->slot(slot) + written_at_; }

 private:
  std::size_t written_at_;  // rounded up to the page; 0: not apart
  std::size_t slot_bytes_;
  std::size_t bytes_;
  std::byte* data_;
};

// Fills with random data, which no drive compresses or finds a copy of.
void fill_random(std::span<std::byte> bytes, Random& random) noexcept;

}  // namespace plimsoll
