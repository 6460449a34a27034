#include "rawio/workload/request_source.h"

namespace plimsoll {
namespace {

// The 64-bit word under which `share` (0..1, not 1) of all words lie.
std::uint64_t word_at(double share) {
  return static_cast<std::uint64_t>(share * 0x1p64);
}

}  // namespace

Piece piece_of(const IoStream& stream, std::uint32_t job, std::uint64_t target_bytes) {
  const std::uint64_t start = stream.span_offset_bytes;
  const std::uint64_t span = stream.span_bytes ? stream.span_bytes : target_bytes - start;
  if (stream.pattern == AccessPattern::kRandom) return {start, span};
  const std::uint64_t block = stream.largest_block_bytes();
  const std::uint64_t length = span / stream.jobs / block * block;
  return {start + job * length, length};
}

RequestSource::RequestSource(const IoStream& stream, const Piece& piece, std::uint64_t seed)
    : rng_(seed),
      piece_(piece),
      random_(stream.pattern == AccessPattern::kRandom),
      mixed_(stream.reads() && stream.writes()),
      only_(stream.reads() ? IoOperation::kRead : IoOperation::kWrite),
      read_threshold_(mixed_ ? word_at(stream.read_percent / 100) : 0) {
  double share = 0;
  for (const auto& block : stream.blocks) {
    share += block.percent / 100;
    const bool last = &block == &stream.blocks.back();
    sizes_.push_back({block.size_bytes, piece.length_bytes / block.size_bytes,
                      last || share >= 1 ? UINT64_MAX : word_at(share)});
  }
}

const RequestSource::Size& RequestSource::draw_size() noexcept {
  const std::uint64_t word = rng_.next();
  const Size* size = sizes_.data();
  while (word > size->threshold) ++size;
  return *size;
}

std::uint64_t RequestSource::advance(std::uint32_t bytes) noexcept {
  if (position_ + bytes > piece_.length_bytes) position_ = 0;
  const std::uint64_t offset = piece_.offset_bytes + position_;
  position_ += bytes;
  return offset;
}

}  // namespace plimsoll
