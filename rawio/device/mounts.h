// The kernel's list of mounts.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rawio/device/sysfs.h"

namespace plimsoll {

struct Mount {
  int id = 0;
  dev_t device =
      0;  // st_dev of its files; major 0 when it is not a block device's (btrfs, overlay)
  std::string root;  // the part of the file system that is mounted, "/" for all of it
  std::string point;
  std::string options;  // of the mount: "rw,noatime"
  std::string type;
  std::string source;         // "/dev/nvme0n1p1"
  std::string super_options;  // of the file system: "rw,nobarrier,data=ordered"
};

// The format of proc_pid_mountinfo(5), its octal escapes undone. Lines that don't parse are
// skipped.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Of this process; empty when the file can't be read.
std::vector<Mount> read_mounts(const SystemRoots& roots = {});

// Of every mount name space that this user can see, each once.
std::vector<Mount> read_all_mounts(const SystemRoots& roots = {});

// The mount in which an existing path lies.
std::optional<Mount> find_mount(const std::filesystem::path& path,
                                const std::vector<Mount>& mounts);

}  // namespace plimsoll
