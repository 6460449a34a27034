#include "rawio/workload/request_source.h"

#include <algorithm>

namespace plimsoll {
namespace {

// The 64-bit word under which `share` (0..1) of all words lie.
std::uint64_t word_at(double share) {
  return share >= 1 ? UINT64_MAX : static_cast<std::uint64_t>(share * 0x1p64);
}

std::uint32_t smallest_block_bytes(const IoStream& stream) {
  std::uint32_t least = stream.blocks.front().size_bytes;
  for (const auto& block : stream.blocks) least = std::min(least, block.size_bytes);
  return least;
}

IoOperation sole_operation(const IoStream& stream) {
  if (stream.reads()) return IoOperation::kRead;
  return stream.writes() ? IoOperation::kWrite : IoOperation::kTrim;
}

}  // namespace

Piece piece_of(const IoStream& stream, std::uint32_t job, std::uint64_t target_bytes) {
  const std::uint64_t start = stream.span_offset_bytes;
  const std::uint64_t span = stream.span_bytes ? stream.span_bytes : target_bytes - start;
  if (!stream.own_pieces()) return {start, span};
  const std::uint64_t block = stream.largest_block_bytes();
  const std::uint64_t length = span / stream.jobs / block * block;
  return {start + job * length, length};
}

RequestSource::Order RequestSource::order_of(const IoStream& stream) {
  if (stream.pattern == AccessPattern::kSequential) return Order::kSequential;
  if (stream.pattern == AccessPattern::kStrided) return Order::kStrided;
  if (stream.no_repeat) return Order::kPermuted;
  return stream.spread.kind == SpreadKind::kUniform ? Order::kUniform : Order::kSpread;
}

RequestSource::RequestSource(const IoStream& stream, const Piece& piece, std::uint64_t seed,
                             const JobSeat& seat)
    : rng_(seed),
      piece_(piece),
      order_(order_of(stream)),
      mixed_(stream.operations() > 1),
      only_(sole_operation(stream)),
      read_threshold_(word_at(stream.read_percent / 100)),
      trim_threshold_(word_at((stream.read_percent + stream.trim_percent) / 100)),
      touched_(piece.length_bytes, smallest_block_bytes(stream)),
      stride_bytes_(stream.stride_bytes),
      seat_(seat),
      jobs_(stream.own_pieces() ? 1 : stream.jobs),
      permutation_(
          std::max<std::uint64_t>(1, piece.length_bytes / stream.blocks.front().size_bytes),
          seat.stream_seed),
      step_(stream.own_pieces() ? 0 : seat.job) {
  double share = 0;
  for (const auto& block : stream.blocks) {
    share += block.percent / 100;
    const bool last = &block == &stream.blocks.back();
    const std::uint64_t blocks = piece.length_bytes / block.size_bytes;
    sizes_.push_back({block.size_bytes, blocks, last ? UINT64_MAX : word_at(share), sizes_.size()});
    if (order_ == Order::kSpread) draws_.emplace_back(stream.spread, blocks, seat.stream_seed);
  }
}

const RequestSource::Size& RequestSource::draw_size() noexcept {
  const std::uint64_t word = rng_.next();
  const Size* size = sizes_.data();
  while (word > size->threshold) ++size;
  return *size;
}

std::uint64_t RequestSource::place(const Size& size) noexcept {
  switch (order_) {
    case Order::kSequential:
      return advance(size.bytes);
    case Order::kStrided:
      return stride(size.bytes);
    case Order::kSpread:
      return draws_[size.index].draw(rng_) * size.bytes;
    case Order::kPermuted:
      return permuted(size);
    case Order::kUniform:
      break;
  }
  return rng_.below(size.blocks) * size.bytes;
}

std::uint64_t RequestSource::advance(std::uint32_t bytes) noexcept {
  if (position_ + bytes > piece_.length_bytes) position_ = 0;
  const std::uint64_t offset = position_;
  position_ += bytes;
  return offset;
}

std::uint64_t RequestSource::stride(std::uint32_t bytes) noexcept {
  if (position_ + bytes > piece_.length_bytes) {
    stride_start_ += bytes;
    if (stride_start_ + bytes > std::min(stride_bytes_, piece_.length_bytes)) stride_start_ = 0;
    position_ = stride_start_;
  }
  const std::uint64_t offset = position_;
  position_ += stride_bytes_;
  return offset;
}

// With more jobs than blocks some jobs have no step in a pass and take one of the next.
std::uint64_t RequestSource::permuted(const Size& size) noexcept {
  while (step_ >= permutation_.size()) {
    step_ -= permutation_.size();
    permutation_ = Permutation(permutation_.size(), seat_.stream_seed + ++pass_);
  }
  const std::uint64_t block = permutation_.at(step_);
  step_ += jobs_;
  return block * size.bytes;
}

}  // namespace plimsoll
