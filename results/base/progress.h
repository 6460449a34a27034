// What a run says of itself while it goes on; cli draws it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace plimsoll {

struct Progress {
  std::string phase;          // "raw", "load", "warm-up", "run"
  double fraction = -1;       // 0..1; negative: not known
  double rate_per_s = -1;     // operations or transactions a second; negative: none yet
  std::string unit = "IOPS";  // of rate_per_s
  std::int64_t p99_ns = -1;   // response, of the last interval; negative: none yet
  std::int64_t left_ns = -1;  // negative: not known
  std::string note;           // "warm-up ends in 8 s"
};

// Called about once a second from one thread at a time. Must not block.
using ProgressSink = std::function<void(const Progress&)>;

}  // namespace plimsoll
