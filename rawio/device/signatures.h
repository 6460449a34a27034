// What libblkid recognises on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll {

// Volume label of the ext4 that `qualify` makes on a block device: one that is found was left by a
// run that was killed. (ext4 labels have up to 16 characters.)
inline constexpr const char* kQualifyLabel = "plimsoll-qualify";

struct Signature {
  std::string type;   // "ext4", "LVM2_member", "gpt", "swap", "crypto_LUKS"
  std::string usage;  // "filesystem", "raid", "crypto", "other", "partition table"
  std::optional<std::uint64_t> offset_bytes;
  std::string label = {};  // of a file system's volume; empty: none
};

// All that are there, also those whose checksum is wrong: file systems, swap, RAID, LVM and crypto
// members, partition tables. `fd` is a block device or file open for reading; its position moves.
// Throws RefusedError when the device can't be probed: what can't be seen is not erased.
std::vector<Signature> probe_signatures(int fd);

}  // namespace plimsoll
