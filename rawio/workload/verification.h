// Looking for what was written.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "rawio/workload/written_log.h"
#include "results/base/progress.h"

namespace plimsoll {

enum class CorruptionKind {
  kUnreadable,
  kForeign,    // no data of this run
  kMisplaced,  // data of this run for another offset
  kStale,      // an earlier write, or a later one that never was: a lost or repeated write
  kDamaged,    // its checksum is wrong
};

struct Corruption {
  CorruptionKind kind;
  std::uint64_t offset;  // of the unit
  std::uint64_t wanted;  // generation
  std::uint64_t found;   // generation, or offset of the misplaced, or errno
};

struct Verification {
  std::uint64_t units = 0;  // looked at
  std::uint64_t bytes = 0;
  std::uint64_t corrupt = 0;              // units
  std::optional<Corruption> first;        // the one of the lowest offset
  std::optional<std::uint32_t> target{};  // of `first`
  void merge(const Verification& other);
};

// Reads every unit of `log` of which something is known from `file`, in order and in large reads,
// and compares. The writer has ended. Stops early, with what it has, when asked. Throws
// RefusedError when there is no memory for its buffer.
Verification verify_written(const WrittenLog& log, int file, std::uint32_t target,
                            const std::stop_token& stop, const ProgressSink& progress);

// "offset 8192 holds generation 2 where 3 was written: a lost write".
std::string describe(const Corruption& corruption);

}  // namespace plimsoll
