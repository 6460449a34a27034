// How much of a file is in the page cache, and getting it out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "rawio/device/sysfs.h"

namespace plimsoll {

struct CacheFacts {
  std::uint64_t size_bytes = 0;      // of the file or block device
  std::uint64_t resident_bytes = 0;  // in whole pages, at most size_bytes
};

// Of a file or block device. Throws BrokenError when it can't be opened or mapped; since Linux 5.2
// only who may write a file is told, others see all of it as resident.
CacheFacts page_cache_of(const std::filesystem::path& path);

// Writes back what is dirty and asks the kernel to drop the rest; returns what is left in the
// cache. Pages that others map or are using stay. Throws BrokenError.
CacheFacts drop_page_cache(const std::filesystem::path& path);

// Of the machine, from /proc/meminfo: nothing when it can't be read. `data_bytes` of data fits when
// it is less than total_bytes.
struct MachineMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;  // the kernel's estimate of what can be had without swapping
};
std::optional<MachineMemory> machine_memory(const SystemRoots& roots = {});

}  // namespace plimsoll
