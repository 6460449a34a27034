// From the lanes that the kernel program writes to histograms.
#pragma once

#include <cstddef>

#include "rawio/device/bpf/block_probe.h"
#include "rawio/device/bpf/layout.h"

namespace plimsoll {

// Adds up the `count` lanes at `lanes`, `stride` apart (one a CPU), and zeroes them. No program may
// be writing to them.
ProbedDisk take_lanes(plm_lane* lanes, std::size_t stride, std::size_t count);

// errno of a blk_status_t; EIO for the ones whose numbers differ between kernels.
int errno_of_status(unsigned status);

}  // namespace plimsoll
