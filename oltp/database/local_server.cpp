#include "oltp/database/local_server.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <mntent.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "oltp/server/memory_bound.h"
#include "results/base/units.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// The options of the mount that holds `path`: the longest mount point that begins it, the last
// mounted there.
std::string mount_options(const fs::path& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(setmntent("/proc/self/mounts", "r"),
                                                     endmntent);
  std::string best, options;
  while (const mntent* entry = mounts ? getmntent(mounts.get()) : nullptr) {
    const auto relative = path.lexically_relative(entry->mnt_dir);
    const bool holds = !relative.empty() && *relative.begin() != "..";
    if (!holds || std::string_view(entry->mnt_dir).size() < best.size()) continue;
    best = entry->mnt_dir;
    options = entry->mnt_opts;
  }
  return options;
}

}  // namespace

bool is_local_host(std::string_view host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@') || host == "localhost" ||
         host == "::1" || host.starts_with("127.");
}

std::optional<std::uint64_t> free_bytes_at(const std::string& path) {
  struct statvfs space = {};
  if (path.empty() || statvfs(path.c_str(), &space) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

void add_placement_findings(std::vector<PreflightFinding>& findings, std::uint64_t size_bytes,
                            const std::string& data_path, pid_t pid) {
  if (data_path.empty()) return;
  struct statfs system = {};
  if (statfs(data_path.c_str(), &system) == 0 &&
      static_cast<std::uint64_t>(system.f_type) == TMPFS_MAGIC) {
    findings.push_back(
        {{"tmpfs", fmt::format("{} lies on tmpfs: no drive is beneath it", data_path)}, false});
  }
  const std::string options = "," + mount_options(data_path) + ",";
  for (const std::string_view off : {"nobarrier", "barrier=0"}) {
    if (options.find(fmt::format(",{},", off)) == std::string::npos) continue;
    findings.push_back(
        {{"not-durable", fmt::format("{} is mounted with {}: flushes don't reach the "
                                     "drive",
                                     data_path, off)},
         true});
  }
  if (const auto memory = memory_bytes_of(pid); memory && size_bytes < *memory) {
    findings.push_back(
        {{"fits-in-cache",
          fmt::format(
              "the database ({}) fits in the memory the server has ({}): the drive sees its "
              "writes but few of its reads",
              format_size(size_bytes), format_size(*memory))},
         false});
  }
}

}  // namespace plimsoll
