// What a job asks next: operation, size and place. No time, no device, no allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "rawio/engine/io_engine.h"
#include "rawio/workload/io_workload.h"
#include "rawio/workload/random.h"

namespace plimsoll {

// The piece of a target that one job uses.
struct Piece {
  std::uint64_t offset_bytes;
  std::uint64_t length_bytes;
};

// That of job `job` (0..jobs-1) of a checked stream; sequential jobs' pieces are whole multiples of
// the stream's largest block.
Piece piece_of(const IoStream& stream, std::uint32_t job, std::uint64_t target_bytes);

// Random offsets are uniform over the blocks of the drawn size that the piece holds whole.
// Sequential ones follow each other and start anew where the next block would cross the end.
class RequestSource {
 public:
  RequestSource(const IoStream& stream, const Piece& piece, std::uint64_t seed);

  // Fills operation, length and offset.
  void next(IoRequest& request) noexcept {
    request.operation = draw_operation();
    const Size& size = sizes_.size() == 1 ? sizes_.front() : draw_size();
    request.length = size.bytes;
    request.offset =
        random_ ? piece_.offset_bytes + rng_.below(size.blocks) * size.bytes : advance(size.bytes);
  }

  Random& rng() noexcept { return rng_; }

 private:
  struct Size {
    std::uint32_t bytes;
    std::uint64_t blocks;     // of this size in the piece
    std::uint64_t threshold;  // drawn when a random word is at or under it; ascending
  };

  IoOperation draw_operation() noexcept {
    if (!mixed_) return only_;
    return rng_.next() < read_threshold_ ? IoOperation::kRead : IoOperation::kWrite;
  }
  const Size& draw_size() noexcept;
  std::uint64_t advance(std::uint32_t bytes) noexcept;

  Random rng_;
  Piece piece_;
  bool random_;
  bool mixed_;
  IoOperation only_;
  std::uint64_t read_threshold_;
  std::uint64_t position_ = 0;
  std::vector<Size> sizes_;
};

}  // namespace plimsoll
