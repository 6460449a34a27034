#include "rawio/workload/written_log.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace plimsoll {

std::uint32_t unit_checksum(const std::byte* unit, std::uint32_t unit_bytes) noexcept {
  const auto* bytes = reinterpret_cast<const Bytef*>(unit);
  uLong sum = ::crc32(0, bytes + sizeof(UnitStamp), unit_bytes - sizeof(UnitStamp));
  sum = ::crc32(sum, bytes, offsetof(UnitStamp, checksum));
  return static_cast<std::uint32_t>(sum);
}

std::uint32_t WrittenLog::unit_of(const IoStream& stream) {
  std::uint32_t unit = BufferContent::kUnit_bytes;
  for (const auto& block : stream.blocks) unit = std::gcd(unit, block.size_bytes);
  return unit;
}

WrittenLog::WrittenLog(const Piece& piece, std::uint32_t unit_bytes, std::uint64_t run)
    : piece_(piece),
      unit_bytes_(unit_bytes),
      run_(run),
      generations_(piece.length_bytes / unit_bytes) {}

bool WrittenLog::begin(const IoRequest& request) noexcept {
  const auto first = generations_.begin() + static_cast<std::ptrdiff_t>(first_unit(request.offset));
  const auto last = first + request.length / unit_bytes_;
  if (std::any_of(first, last, [](auto word) { return (word & kUnderWay) != 0; })) return false;
  std::for_each(first, last, [](auto& word) { word = ((word + 1) & kGenerations) | kUnderWay; });
  return true;
}

void WrittenLog::stamp(const IoRequest& request) const noexcept {
  std::uint64_t unit = first_unit(request.offset);
  for (std::uint32_t at = 0; at < request.length; at += unit_bytes_, ++unit) {
    UnitStamp stamp{run_, request.offset + at, generations_[unit] & kGenerations, UnitStamp::kMagic,
                    0};
    std::memcpy(request.buffer + at, &stamp, sizeof(stamp));
    stamp.checksum = unit_checksum(request.buffer + at, unit_bytes_);
    std::memcpy(request.buffer + at, &stamp, sizeof(stamp));
  }
}

void WrittenLog::end(IoOperation operation, std::uint64_t offset, std::uint32_t length,
                     bool done) noexcept {
  const bool known = done && operation == IoOperation::kWrite;
  std::uint64_t unit = first_unit(offset);
  for (std::uint32_t at = 0; at < length; at += unit_bytes_, ++unit) {
    generations_[unit] = (generations_[unit] & kGenerations) | (known ? 0 : kUnknown);
  }
}

}  // namespace plimsoll
