// What libblkid recognises on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll {

struct Signature {
  std::string type;   // "ext4", "LVM2_member", "gpt", "swap", "crypto_LUKS"
  std::string usage;  // "filesystem", "raid", "crypto", "other", "partition table"
  std::optional<std::uint64_t> offset_bytes;
};

// All that are there, also those whose checksum is wrong: file systems, swap, RAID, LVM and crypto
// members, partition tables. `fd` is a block device or file open for reading; its position moves.
// Throws RefusedError when the device can't be probed: what can't be seen is not erased.
std::vector<Signature> probe_signatures(int fd);

}  // namespace plimsoll
