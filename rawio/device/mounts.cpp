#include "rawio/device/mounts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

namespace plimsoll {
namespace fs = std::filesystem;

namespace {

// Blank, tab, newline and backslash are written as \040 and the like.
std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned code = 0;
    const char* const digits = text.data() + at + 1;
    const bool escaped = text[at] == '\\' && at + 3 < text.size() &&
                         std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3;
    result += escaped ? static_cast<char>(code) : text[at];
    if (escaped) at += 3;
  }
  return result;
}

// ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAG…] - TYPE SOURCE SUPER_OPTIONS
std::optional<Mount> parse_mount(std::string_view line) {
  const auto words = split_words(line);
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (dash - words.begin() < 6 || words.end() - dash < 4) return {};
  const auto id = parse_number<int>(words[0]);
  const auto device = parse_device_number(words[2]);
  if (!id || !device) return {};
  return Mount{.id = *id,
               .device = *device,
               .root = unescape(words[3]),
               .point = unescape(words[4]),
               .options = words[5],
               .type = dash[1],
               .source = unescape(dash[2]),
               .super_options = dash[3]};
}

std::optional<int> mount_id(const fs::path& path) {
  struct statx facts {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &facts) != 0) return {};
  if ((facts.stx_mask & STATX_MNT_ID) == 0) return {};
  return static_cast<int>(facts.stx_mnt_id);
}

bool lies_in(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || path.starts_with(folder + "/");
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty()) {
    const auto end = std::min(mountinfo.find('\n'), mountinfo.size());
    if (auto mount = parse_mount(mountinfo.substr(0, end))) mounts.push_back(std::move(*mount));
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
  }
  return mounts;
}

std::vector<Mount> read_mounts(const SystemRoots& roots) {
  return parse_mounts(read_text(roots.proc / "self/mountinfo").value_or(""));
}

std::vector<Mount> read_all_mounts(const SystemRoots& roots) {
  std::vector<Mount> mounts = read_mounts(roots);
  std::error_code error;
  std::set<std::string> seen{fs::read_symlink(roots.proc / "self/ns/mnt", error).string()};
  for (const auto& entry : fs::directory_iterator(roots.proc, error)) {
    if (!parse_number<int>(entry.path().filename().string())) continue;
    const auto space = fs::read_symlink(entry.path() / "ns/mnt", error).string();
    if (error || !seen.insert(space).second) continue;
    const auto others = parse_mounts(read_text(entry.path() / "mountinfo").value_or(""));
    mounts.insert(mounts.end(), others.begin(), others.end());
  }
  return mounts;
}

std::optional<Mount> find_mount(const fs::path& path, const std::vector<Mount>& mounts) {
  if (const auto id = mount_id(path)) {
    for (const auto& mount : mounts) {
      if (mount.id == *id) return mount;
    }
  }
  // Kernels before 5.8 don't tell the mount: the last one over the longest part of the path.
  std::error_code error;
  const auto absolute = fs::canonical(path, error).string();
  const Mount* best = nullptr;
  for (const auto& mount : mounts) {
    const bool longer = best == nullptr || mount.point.size() >= best->point.size();
    if (lies_in(absolute, mount.point) && longer) best = &mount;
  }
  if (error || best == nullptr) return {};
  return *best;
}

}  // namespace plimsoll
