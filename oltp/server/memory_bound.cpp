#include "oltp/server/memory_bound.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "results/base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Whole text in one write, as these files want it; 0 or the errno.
int write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  if (!out) return errno != 0 ? errno : EACCES;
  errno = 0;
  out << text << std::flush;
  return out ? 0 : (errno != 0 ? errno : EIO);
}

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream in(text);
  for (std::string each; in >> each;) {
    if (each == word) return true;
  }
  return false;
}

struct Hierarchy {
  fs::path mount;
  bool v2;
};

// Where the memory controller is: mountinfo's last fields are "- TYPE SOURCE OPTIONS", its fifth
// the mount point.
std::optional<Hierarchy> find_hierarchy() {
  std::ifstream in("/proc/self/mountinfo");
  std::optional<Hierarchy> found;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
    if (words.size() < 10) continue;
    const std::string& type = words[words.size() - 3];
    const std::string options = "," + words.back() + ",";
    if (type == "cgroup" && options.find(",memory,") != std::string::npos)
      return Hierarchy{words[4], false};
    if (type == "cgroup2" && has_word(read_text(words[4] + "/cgroup.controllers"), "memory"))
      found = Hierarchy{words[4], true};
  }
  return found;
}

// The group of a process: "5:memory:/path" for v1, "0::/path" for v2. In a container the path may
// lie outside of what is mounted; then the mount is all there is.
fs::path group_of(const Hierarchy& hierarchy, const std::string& process) {
  std::ifstream in("/proc/" + process + "/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool ours =
        hierarchy.v2 ? controllers == ",," : controllers.find(",memory,") != std::string::npos;
    if (!ours) continue;
    const fs::path path = hierarchy.mount / line.substr(second + 2);
    if (fs::exists(path / "cgroup.procs")) return path;
  }
  return hierarchy.mount;
}

// v2 limits only groups whose parent hands the controller down, and a group that holds processes
// may not (the root excepted): so the parent is the nearest ancestor that does.
fs::path parent_group(const Hierarchy& hierarchy) {
  fs::path group = group_of(hierarchy, "self");
  if (!hierarchy.v2) return group;
  for (; group != hierarchy.mount && group.has_relative_path(); group = group.parent_path()) {
    if (has_word(read_text(group / "cgroup.subtree_control"), "memory")) return group;
  }
  if (!has_word(read_text(hierarchy.mount / "cgroup.subtree_control"), "memory"))
    write_text(hierarchy.mount / "cgroup.subtree_control", "+memory");
  return hierarchy.mount;
}

// Groups of a Plimsoll that was killed: "plimsoll-PID-N". One with a process in it stays.
void remove_abandoned_groups(const fs::path& parent) {
  constexpr std::string_view kPrefix = "plimsoll-";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const pid_t maker = std::atoi(name.c_str() + kPrefix.size());
    if (maker > 0 && ::kill(maker, 0) != 0 && errno == ESRCH) rmdir(entry.path().c_str());
  }
}

[[noreturn]] void refuse(const std::string& what) {
  throw RefusedError("can't bound the memory of the database: " + what +
                         "; run as root, or under: systemd-run --user --scope -p Delegate=yes …",
                     "unbounded-memory");
}

}  // namespace

MemoryBound::MemoryBound(std::uint64_t limit_bytes) {
  const auto hierarchy = find_hierarchy();
  if (!hierarchy) {
    throw RefusedError(
        "can't bound the memory of the database: no cgroup with the memory controller is mounted; "
        "boot with systemd's default (cgroup v2)",
        "unbounded-memory");
  }
  v2_ = hierarchy->v2;
  static std::atomic<unsigned> made{0};
  const fs::path parent = parent_group(*hierarchy);
  remove_abandoned_groups(parent);
  group_ = parent / fmt::format("plimsoll-{}-{}", getpid(), made++);
  std::error_code error;
  if (!fs::create_directory(group_, error))
    refuse(fmt::format("making {} failed: {}", group_.string(), error.message()));
  const auto limit = group_ / (v2_ ? "memory.max" : "memory.limit_in_bytes");
  if (const int code = write_text(limit, std::to_string(limit_bytes)); code != 0) {
    fs::remove(group_, error);
    refuse(fmt::format("writing {} failed: {}", limit.string(), std::strerror(code)));
  }
  // Swap would let the database hold more than it was given; absent where swap isn't accounted.
  if (v2_) write_text(group_ / "memory.swap.max", "0");
  if (!v2_) write_text(group_ / "memory.memsw.limit_in_bytes", std::to_string(limit_bytes));
}

MemoryBound::~MemoryBound() {
  if (!left_group_.empty()) write_text(left_group_ / "cgroup.procs", std::to_string(getpid()));
  // A process that was just reaped can hold its group for a moment more.
  for (int i = 0; i < 200 && rmdir(group_.c_str()) != 0 && errno == EBUSY; ++i) usleep(10'000);
}

void MemoryBound::enter() {
  const auto before = group_of(*find_hierarchy(), "self");
  if (const int code = write_text(procs_file(), std::to_string(getpid())); code != 0)
    refuse(fmt::format("entering {} failed: {}", group_.string(), std::strerror(code)));
  left_group_ = before;
}

std::uint64_t MemoryBound::limit_bytes() const {
  return std::stoull(read_text(group_ / (v2_ ? "memory.max" : "memory.limit_in_bytes")));
}

std::uint64_t MemoryBound::current_bytes() const {
  return std::stoull(read_text(group_ / (v2_ ? "memory.current" : "memory.usage_in_bytes")));
}

std::optional<std::uint64_t> memory_bytes_of(pid_t pid) {
  const std::string process = std::to_string(pid);
  if (pid <= 0 || !fs::exists("/proc/" + process)) return std::nullopt;
  auto least = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto hierarchy = find_hierarchy();
  if (!hierarchy) return least;
  for (fs::path group = group_of(*hierarchy, process); group.has_relative_path();
       group = group.parent_path()) {
    std::uint64_t limit = 0;  // no number ("max") is no limit
    std::istringstream in(
        read_text(group / (hierarchy->v2 ? "memory.max" : "memory.limit_in_bytes")));
    if (in >> limit && limit > 0) least = std::min(least, limit);
    if (group == hierarchy->mount) break;
  }
  return least;
}

}  // namespace plimsoll
