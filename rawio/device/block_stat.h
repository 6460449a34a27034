// The kernel's counters of one block device: /sys/block/NAME/stat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rawio/device/identity.h"

namespace plimsoll {

// Since the device appeared. Times are of all operations together, from allocating the request to
// its end, cut to whole ms, and wrap at 2^32 ms.
struct OperationCounters {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint32_t time_ms = 0;
};

struct BlockCounters {
  OperationCounters read;
  OperationCounters write;
  std::uint64_t in_flight = 0;               // now
  std::optional<OperationCounters> discard;  // kernel 4.18 and later
  std::optional<OperationCounters> flush;    // kernel 5.5 and later
};

// The format of the kernel's Documentation/block/stat.rst: 11, 15 or 17 numbers (or more, later).
std::optional<BlockCounters> parse_block_stat(std::string_view text);

// What was done from one reading to the next; nothing when a count went back, which only another
// device under the same name explains.
std::optional<OperationCounters> counters_between(const OperationCounters& before,
                                                  const OperationCounters& after);

// The counters of one device, which notices when the device is another or gone.
class BlockStatReader {
 public:
  BlockStatReader(const BlockDevice& device, const SystemRoots& roots);
  // Nothing from the moment the device is gone: pulled out, detached, or replaced by another.
  std::optional<BlockCounters> read();

 private:
  std::filesystem::path folder_;
  std::filesystem::path disk_;
  std::optional<std::string> sequence_;  // the kernel's number of this medium
};

}  // namespace plimsoll
