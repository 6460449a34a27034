// Which bytes of a file were really written.
#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

// Bytes of [offset, offset + length) that no read of the file gets from the drive: holes, and
// extents reserved but never written. By FIEMAP, else SEEK_HOLE (which sees holes only). Empty
// where the file system tells neither. Starts writeback of the file's dirty pages and waits for it.
std::optional<std::uint64_t> unwritten_bytes(int file, std::uint64_t offset, std::uint64_t length);

}  // namespace plimsoll
