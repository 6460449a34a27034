#include "rawio/device/identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "results/base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;

namespace {

// Loop devices over files on loop devices end somewhere; a damaged tree might not.
constexpr int kDeepest = 16;

std::vector<dev_t> numbers_in(const fs::path& folder) {
  std::vector<dev_t> numbers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto text = read_line(entry.path() / "dev");
    if (const auto number = parse_device_number(text.value_or(""))) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<dev_t> block_number_of(const fs::path& node) {
  struct stat facts {};
  if (stat(node.c_str(), &facts) != 0 || !S_ISBLK(facts.st_mode)) return {};
  return facts.st_rdev;
}

// A btrfs may span devices, of which the mount names one.
std::vector<dev_t> btrfs_numbers(const std::string& source, const SystemRoots& roots) {
  std::error_code error;
  const std::string name = fs::canonical(source, error).filename().string();
  for (const auto& entry : fs::directory_iterator(roots.sys / "fs/btrfs", error)) {
    const auto members = entry.path() / "devices";
    if (!name.empty() && fs::exists(members / name, error)) return numbers_in(members);
  }
  return {};
}

std::string option_value(const std::string& options, std::string_view key) {
  const auto list = "," + options + ",";
  const auto at = list.find(fmt::format(",{}=", key));
  if (at == std::string::npos) return {};
  const auto start = at + key.size() + 2;
  return list.substr(start, list.find(',', start) - start);
}

std::vector<dev_t> numbers_beneath_path(const fs::path& path, const SystemRoots& roots, int depth);

// The devices of a mount. Those whose st_dev is anonymous name them in other ways.
std::vector<dev_t> numbers_beneath(const Mount& mount, const SystemRoots& roots, int depth) {
  if (major(mount.device) != 0) return {mount.device};
  if (mount.type == "btrfs") {
    if (auto members = btrfs_numbers(mount.source, roots); !members.empty()) return members;
  }
  if (mount.type == "overlay") {
    const auto upper = option_value(mount.super_options, "upperdir");
    if (!upper.empty()) return numbers_beneath_path(upper, roots, depth + 1);
  }
  if (const auto number = block_number_of(mount.source)) return {*number};
  return {};
}

std::vector<dev_t> numbers_beneath_path(const fs::path& path, const SystemRoots& roots, int depth) {
  if (depth > kDeepest) return {};
  if (const auto number = block_number_of(path)) return {*number};
  const auto mount = find_mount(path, read_mounts(roots));
  return mount ? numbers_beneath(*mount, roots, depth) : std::vector<dev_t>{};
}

std::vector<dev_t> numbers_below(const BlockDevice& device, const SystemRoots& roots, int depth) {
  const auto link =
      roots.sys / fmt::format("dev/block/{}:{}", major(device.number), minor(device.number));
  if (device.kind == LevelKind::kPartition) {
    std::error_code error;
    const auto disk = fs::canonical(link, error).parent_path();
    const auto number = parse_device_number(read_line(disk / "dev").value_or(""));
    return number ? std::vector<dev_t>{*number} : std::vector<dev_t>{};
  }
  if (device.backing_file) return numbers_beneath_path(*device.backing_file, roots, depth);
  return numbers_in(link / "slaves");
}

// Adds the device and all beneath it; returns its name.
std::optional<std::string> add_levels(DeviceStack& stack, dev_t number, const SystemRoots& roots,
                                      int depth = 0) {
  auto device = describe_device(number, roots);
  if (!device || depth > kDeepest) return {};
  const std::string name = device->name;
  if (stack.find(name) != nullptr) return name;
  const std::size_t index = stack.levels.size();
  stack.levels.push_back(std::move(*device));
  for (const dev_t lower : numbers_below(stack.levels[index], roots, depth)) {
    const auto below = add_levels(stack, lower, roots, depth + 1);
    if (below) stack.levels[index].below.push_back(*below);
  }
  return name;
}

FileSystem file_system_of(const Mount& mount) {
  FileSystem result{.type = mount.type,
                    .source = mount.source,
                    .mount_point = mount.point,
                    .mount_options = mount.options,
                    .super_options = mount.super_options,
                    .total_bytes = {},
                    .free_bytes = {}};
  struct statvfs space {};
  if (statvfs(mount.point.c_str(), &space) == 0 && space.f_blocks > 0) {
    result.total_bytes = space.f_blocks * space.f_frsize;
    result.free_bytes = space.f_bavail * space.f_frsize;
  }
  return result;
}

bool is_mounted_from(const Mount& mount, dev_t number) {
  if (mount.device == number) return true;
  return major(mount.device) == 0 && block_number_of(mount.source) == number;
}

void append_family(std::vector<dev_t>& family, dev_t number, const SystemRoots& roots) {
  if (std::find(family.begin(), family.end(), number) != family.end()) return;
  family.push_back(number);
  const auto link = roots.sys / fmt::format("dev/block/{}:{}", major(number), minor(number));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(link / "", error)) {
    if (!fs::exists(entry.path() / "partition", error)) continue;
    const auto text = read_line(entry.path() / "dev").value_or("");
    if (const auto partition = parse_device_number(text)) append_family(family, *partition, roots);
  }
  for (const dev_t holder : numbers_in(link / "holders")) append_family(family, holder, roots);
}

}  // namespace

const BlockDevice* DeviceStack::find(std::string_view name) const {
  const auto found = std::find_if(levels.begin(), levels.end(),
                                  [&](const BlockDevice& level) { return level.name == name; });
  return found == levels.end() ? nullptr : &*found;
}

std::vector<const BlockDevice*> DeviceStack::drives() const {
  std::vector<const BlockDevice*> bottom;
  for (const auto& level : levels) {
    if (level.below.empty()) bottom.push_back(&level);
  }
  return bottom;
}

DeviceStack identify(const fs::path& path, const SystemRoots& roots) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) {
    throw UsageError(fmt::format("{}: {}; name an existing block device, file or folder",
                                 path.string(), std::strerror(errno)));
  }
  const bool block = S_ISBLK(facts.st_mode);
  if (!block && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
    throw UsageError(path.string() + " is neither a block device nor a file or folder; name one");
  }
  DeviceStack stack{.path = path.string(), .file_system = {}, .levels = {}};
  if (block) {
    const auto mounted = mounted_file_systems(facts.st_rdev, roots);
    if (!mounted.empty()) stack.file_system = mounted.front();
  } else if (const auto mount = find_mount(path, read_mounts(roots))) {
    stack.file_system = file_system_of(*mount);
  }
  for (const dev_t number : numbers_beneath_path(path, roots, 0)) {
    add_levels(stack, number, roots);
  }
  return stack;
}

DeviceStack identify(dev_t number, const SystemRoots& roots) {
  DeviceStack stack;
  add_levels(stack, number, roots);
  if (!stack.levels.empty()) stack.path = stack.levels.front().node;
  return stack;
}

void require_block_device(const DeviceStack& stack) {
  if (!stack.levels.empty()) return;
  const auto type = stack.file_system ? stack.file_system->type : "no file system";
  throw RefusedError(fmt::format(
      "{} lies on {}, with no drive beneath to measure; name a folder on a drive or a block device",
      stack.path, type));
}

std::vector<BlockDevice> all_block_devices(const SystemRoots& roots) {
  std::vector<BlockDevice> devices;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(roots.sys / "class/block", error)) {
    const auto number = parse_device_number(read_line(entry.path() / "dev").value_or(""));
    if (!number || read_flag(entry.path() / "hidden").value_or(false)) continue;
    auto device = describe_device(*number, roots);
    if (device && device->size_bytes > 0) devices.push_back(std::move(*device));
  }
  // "sda10" stands after "sda9": shorter names first within a stem.
  std::sort(devices.begin(), devices.end(), [](const BlockDevice& a, const BlockDevice& b) {
    return strverscmp(a.name.c_str(), b.name.c_str()) < 0;
  });
  return devices;
}

std::vector<FileSystem> mounted_file_systems(dev_t number, const SystemRoots& roots) {
  std::vector<FileSystem> systems;
  for (const auto& mount : read_mounts(roots)) {
    if (is_mounted_from(mount, number)) systems.push_back(file_system_of(mount));
  }
  return systems;
}

std::vector<dev_t> device_family(dev_t number, const SystemRoots& roots) {
  std::vector<dev_t> family;
  append_family(family, number, roots);
  return family;
}

}  // namespace plimsoll
