#include "rawio/workload/buffer_content.h"

#include <algorithm>
#include <cstring>

#include "rawio/workload/io_buffers.h"

namespace plimsoll {

BufferContent::BufferContent(const ContentShares& shares, std::uint64_t copies_seed)
    : plain_(shares.plain()),
      random_share_(1 - shares.compress_percent / 100),
      copy_threshold_(shares.dedupe_percent >= 100
                          ? UINT64_MAX
                          : static_cast<std::uint64_t>(shares.dedupe_percent / 100 * 0x1p64)) {
  if (shares.dedupe_percent <= 0) return;
  copies_.resize(std::size_t{kCopies} * kUnit_bytes);
  Random random(copies_seed);
  fill_random(copies_, random);
}

void BufferContent::shape(std::byte* data, std::uint32_t bytes, Random& random) const noexcept {
  for (std::uint32_t start = 0; start < bytes; start += kUnit_bytes) {
    std::byte* unit = data + start;
    const std::uint32_t length = std::min(kUnit_bytes, bytes - start);
    const auto head = static_cast<std::uint32_t>(random_share_ * length);
    if (!copies_.empty() && random.next() <= copy_threshold_) {
      std::memcpy(unit, copies_.data() + random.below(kCopies) * kUnit_bytes, head);
    } else {
      for (std::uint32_t at = 0; at + sizeof(std::uint64_t) <= head; at += 512) {
        const std::uint64_t word = random.next();
        std::memcpy(unit + at, &word, sizeof(word));
      }
    }
    std::memset(unit + head, 0, length - head);
  }
}

}  // namespace plimsoll
