// For the registry alone: how each engine is made, and what several of them share.
#pragma once

#include <cstdint>
#include <memory>

#include "rawio/engine/io_engine.h"

namespace plimsoll {

std::unique_ptr<IoEngine> make_null_engine();
std::unique_ptr<IoEngine> make_psync_engine();
std::unique_ptr<IoEngine> make_libaio_engine();
std::unique_ptr<IoEngine> make_io_uring_engine();

// One request by system calls that return when it is done: bytes moved or -errno. Trim is
// BLKDISCARD on a block device and a punched hole in a file.
std::int64_t run_synchronously(int file, const IoRequest& request) noexcept;

// Throws UsageError when `depth` is 0 or over `max_depth`.
void check_depth(const char* engine, std::uint32_t depth, std::uint32_t max_depth);

}  // namespace plimsoll
