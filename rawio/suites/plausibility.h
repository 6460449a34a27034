// Can a flush be as fast as was measured?
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rawio/device/identity.h"

namespace plimsoll {

struct Plausibility {
  bool doubtful = false;  // faster than the medium or the link can be
  bool lie = false;       // and nothing harmless explains it
  std::string text;       // one sentence, with the figures
};

// Of the median time to append `record_bytes` and have them on the medium, one committer at a time.
// A drive without a volatile cache is held to its link only: its flush has nothing to do. Of a
// virtual drive or memory nothing is known: no verdict, and the text says why.
Plausibility judge_commit(const BlockDevice& drive, std::uint32_t record_bytes,
                          std::int64_t median_ns);

// The least time that the drive's own link needs for so many bytes; empty where it isn't known.
std::optional<std::int64_t> link_time_ns(const BlockDevice& drive, std::uint32_t bytes);

}  // namespace plimsoll
