// What a job wrote where, so that it can be looked for afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rawio/engine/io_engine.h"
#include "rawio/workload/request_source.h"

namespace plimsoll {

// At the head of each unit of verified data; little endian as the machine is.
struct UnitStamp {
  std::uint64_t run;         // the same in a whole run, another in each
  std::uint64_t offset;      // where it was written
  std::uint64_t generation;  // how often the unit was written, this time included
  std::uint32_t magic;
  std::uint32_t checksum;  // CRC-32 of the rest of the unit, and of the above
  static constexpr std::uint32_t kMagic = 0x504c494d;
};

// The checksum that the unit at `unit` ought to have.
std::uint32_t unit_checksum(const std::byte* unit, std::uint32_t unit_bytes) noexcept;

// The generations of a job's piece of a target: 4 bytes a unit. Owned by the job; read by others
// once it has ended.
class WrittenLog {
 public:
  // Of verified data: the largest size up to 4 KiB that divides every block of the stream.
  static std::uint32_t unit_of(const IoStream& stream);
  static std::uint64_t memory_bytes(const Piece& piece, std::uint32_t unit_bytes) {
    return piece.length_bytes / unit_bytes * sizeof(std::uint32_t);
  }

  WrittenLog(const Piece& piece, std::uint32_t unit_bytes, std::uint64_t run);

  // Begins a write or trim. False while another of a part of the range is under way, whose order
  // the drive may choose: ask again after a completion.
  bool begin(const IoRequest& request) noexcept;
  // After begin, once the buffer is filled.
  void stamp(const IoRequest& request) const noexcept;
  // A failed write and a trim leave units of which nothing is known.
  void end(IoOperation operation, std::uint64_t offset, std::uint32_t length, bool done) noexcept;

  const Piece& piece() const { return piece_; }
  std::uint32_t unit_bytes() const { return unit_bytes_; }
  std::uint64_t run() const { return run_; }
  std::uint64_t units() const { return generations_.size(); }
  // Of the unit; 0: never written, or nothing is known of it.
  std::uint32_t generation(std::uint64_t unit) const noexcept {
    return (generations_[unit] & ~kGenerations) == 0 ? generations_[unit] : 0;
  }
  std::uint64_t offset_of(std::uint64_t unit) const {
    return piece_.offset_bytes + unit * unit_bytes_;
  }

 private:
  static constexpr std::uint32_t kUnderWay = 1u << 31;
  static constexpr std::uint32_t kUnknown = 1u << 30;
  static constexpr std::uint32_t kGenerations = kUnknown - 1;
  std::uint64_t first_unit(std::uint64_t offset) const noexcept {
    return (offset - piece_.offset_bytes) / unit_bytes_;
  }

  Piece piece_;
  std::uint32_t unit_bytes_;
  std::uint64_t run_;
  std::vector<std::uint32_t> generations_;
};

}  // namespace plimsoll
