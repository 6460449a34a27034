// What a job asks next: operation, size and place. No time, no device, no allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "rawio/engine/io_engine.h"
#include "rawio/workload/io_workload.h"
#include "rawio/workload/permutation.h"
#include "rawio/workload/random.h"
#include "rawio/workload/span_map.h"
#include "rawio/workload/spread.h"

namespace plimsoll {

// The piece of a target that one job uses.
struct Piece {
  std::uint64_t offset_bytes;
  std::uint64_t length_bytes;
};

// That of job `job` (0..jobs-1) of a checked stream; jobs' own pieces are whole multiples of the
// stream's largest block.
Piece piece_of(const IoStream& stream, std::uint32_t job, std::uint64_t target_bytes);

// A job among its sisters: what they share so as to have the same hot blocks, and to leave no block
// out and ask none twice.
struct JobSeat {
  std::uint32_t job = 0;
  std::uint64_t stream_seed = 0;
  std::uint32_t thread = 0;    // among all jobs of the run
  std::uint64_t run_mark = 0;  // of this run alone: data of an earlier one is not taken for its own
};

// Random offsets are uniform (or as spread) over the blocks of the drawn size that the piece holds
// whole. Without repeats, jobs take every jobs-th step of one permutation, and a new one after each
// pass. Sequential ones follow each other and start anew where the next block would cross the end.
class RequestSource {
 public:
  RequestSource(const IoStream& stream, const Piece& piece, std::uint64_t seed,
                const JobSeat& seat = {});

  // Fills operation, length and offset.
  void next(IoRequest& request) noexcept {
    request.operation = draw_operation();
    const Size& size = sizes_.size() == 1 ? sizes_.front() : draw_size();
    request.length = size.bytes;
    const std::uint64_t offset =
        order_ == Order::kUniform ? rng_.below(size.blocks) * size.bytes : place(size);
    touched_.mark(offset, size.bytes);
    request.offset = piece_.offset_bytes + offset;
  }

  Random& rng() noexcept { return rng_; }
  const SpanMap& touched() const noexcept { return touched_; }

 private:
  enum class Order { kUniform, kSequential, kStrided, kSpread, kPermuted };
  struct Size {
    std::uint32_t bytes;
    std::uint64_t blocks;     // of this size in the piece
    std::uint64_t threshold;  // drawn when a random word is at or under it; ascending
    std::size_t index;        // of its draw
  };

  IoOperation draw_operation() noexcept {
    if (!mixed_) return only_;
    const std::uint64_t word = rng_.next();
    if (word < read_threshold_) return IoOperation::kRead;
    return word < trim_threshold_ ? IoOperation::kTrim : IoOperation::kWrite;
  }
  static Order order_of(const IoStream& stream);
  const Size& draw_size() noexcept;
  std::uint64_t place(const Size& size) noexcept;  // from the start of the piece
  std::uint64_t advance(std::uint32_t bytes) noexcept;
  std::uint64_t stride(std::uint32_t bytes) noexcept;
  std::uint64_t permuted(const Size& size) noexcept;

  Random rng_;
  Piece piece_;
  Order order_;
  bool mixed_;
  IoOperation only_;
  std::uint64_t read_threshold_;
  std::uint64_t trim_threshold_;
  std::vector<Size> sizes_;
  SpanMap touched_;

  std::uint64_t position_ = 0;
  std::uint64_t stride_bytes_;
  std::uint64_t stride_start_ = 0;
  std::vector<BlockDraw> draws_;  // one a size
  JobSeat seat_;
  std::uint32_t jobs_;
  Permutation permutation_;
  std::uint64_t step_;  // of the permutation
  std::uint64_t pass_ = 0;
};

}  // namespace plimsoll
