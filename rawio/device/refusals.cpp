// All that can speak against erasing a device.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rawio/device/guard.h"
#include "rawio/device/signatures.h"
#include "results/base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;

namespace {

// The device in question and all that lives or falls with it.
struct Subject {
  const DeviceStack& stack;
  const BlockDevice& device;
  std::vector<dev_t> family;    // itself, its partitions, what is stacked on them
  std::vector<dev_t> occupied;  // family, and of a partition its whole disk
  const fs::path& results_dir;
  const SystemRoots& roots;
};

using Refusals = std::vector<Refusal>;

bool contains(const std::vector<dev_t>& numbers, dev_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

bool is_one_of(const fs::path& node, const std::vector<dev_t>& numbers) {
  struct stat facts {};
  return stat(node.c_str(), &facts) == 0 && S_ISBLK(facts.st_mode) &&
         contains(numbers, facts.st_rdev);
}

void find_read_only(const Subject& subject, Refusals& refusals) {
  if (!subject.device.read_only.value_or(false)) return;
  refusals.push_back({RefusalReason::kReadOnly,
                      "is read-only; make it writable (blockdev --setrw) or name another"});
}

void find_mounts(const Subject& subject, Refusals& refusals) {
  for (const auto& mount : read_all_mounts(subject.roots)) {
    const bool direct = contains(subject.occupied, mount.device);
    // btrfs and the like have a number of their own; their source names the device.
    const bool anonymous = major(mount.device) == 0 && mount.source.starts_with("/") &&
                           is_one_of(mount.source, subject.occupied);
    if (!direct && !anonymous) continue;
    refusals.push_back({RefusalReason::kMounted,
                        fmt::format("is mounted at {0}; unmount it (umount {0})", mount.point)});
    return;
  }
}

void find_swap(const Subject& subject, Refusals& refusals) {
  const auto table = read_text(subject.roots.proc / "swaps").value_or("");
  for (std::size_t at = table.find('\n'); at + 1 < table.size(); at = table.find('\n', at + 1)) {
    const std::string node = table.substr(at + 1, table.find_first_of(" \t", at + 1) - at - 1);
    if (!is_one_of(node, subject.occupied)) continue;
    refusals.push_back({RefusalReason::kSwap,
                        fmt::format("is swap in use ({0}); switch it off (swapoff {0})", node)});
    return;
  }
}

bool lies_beneath(const Subject& subject, const fs::path& path) {
  const auto stack = identify(path, subject.roots);
  return std::any_of(stack.levels.begin(), stack.levels.end(), [&](const BlockDevice& level) {
    return contains(subject.family, level.number);
  });
}

void find_system_drive(const Subject& subject, Refusals& refusals) {
  if (!lies_beneath(subject, "/")) return;
  refusals.push_back(
      {RefusalReason::kSystemDrive, "holds the running system (/); name a drive that doesn't"});
}

void find_results(const Subject& subject, Refusals& refusals) {
  if (subject.results_dir.empty()) return;
  fs::path existing = fs::absolute(subject.results_dir);
  std::error_code error;
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  if (!lies_beneath(subject, existing)) return;
  refusals.push_back({RefusalReason::kResults,
                      fmt::format("holds the results folder {}; put it elsewhere (--out DIR)",
                                  subject.results_dir.string())});
}

// Kernel users that stand on it.
std::vector<std::string> holder_names(const Subject& subject) {
  std::vector<std::string> names;
  std::error_code error;
  for (const dev_t number : subject.occupied) {
    const auto link = fmt::format("dev/block/{}:{}/holders", major(number), minor(number));
    for (const auto& entry : fs::directory_iterator(subject.roots.sys / link, error)) {
      names.push_back(entry.path().filename().string());
    }
  }
  for (const auto& entry : fs::directory_iterator(subject.roots.sys / "block", error)) {
    const auto backing = read_line(entry.path() / "loop/backing_file");
    const bool behind = backing && is_one_of(*backing, subject.occupied);
    if (behind) names.push_back(entry.path().filename().string());
  }
  return names;
}

void find_holders(const Subject& subject, Refusals& refusals) {
  const auto names = holder_names(subject);
  if (names.empty()) return;
  refusals.push_back(
      {RefusalReason::kHolder,
       fmt::format("is part of {}; take that apart first (vgchange -an, mdadm --stop, "
                   "cryptsetup close, losetup -d)",
                   fmt::join(names, ", "))});
}

bool has_open(const fs::path& process, const std::vector<dev_t>& numbers) {
  std::error_code error;
  fs::directory_iterator entry(process / "fd", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (is_one_of(entry->path(), numbers)) return true;
  }
  return false;
}

void find_openers(const Subject& subject, Refusals& refusals) {
  std::vector<std::string> openers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(subject.roots.proc, error)) {
    const auto pid = parse_number<pid_t>(entry.path().filename().string());
    if (!pid || *pid == getpid() || !has_open(entry.path(), subject.family)) continue;
    openers.push_back(
        fmt::format("{} ({})", read_line(entry.path() / "comm").value_or("process"), *pid));
  }
  if (openers.empty()) return;
  refusals.push_back({RefusalReason::kOpened,
                      fmt::format("is held open by {}; stop it first", fmt::join(openers, ", "))});
}

// "an ext4 file system", "a gpt partition table". Abbreviations are read letter by letter.
std::string with_article(const std::string& words) {
  constexpr std::string_view kSpelled[] = {"LVM", "f2fs", "hfs", "ntfs", "xfs"};
  const bool vowel = std::string_view("aeiouAEIOU").find(words.front()) != std::string_view::npos;
  const bool spelled = std::any_of(std::begin(kSpelled), std::end(kSpelled),
                                   [&](auto start) { return words.starts_with(start); });
  return (vowel || spelled ? "an " : "a ") + words;
}

// Whose it is, where that is known: then it can go.
std::string origin(const Signature& signature, const std::string& node) {
  if (signature.type != "ext4" || signature.label != kQualifyLabel) return {};
  return fmt::format(" that a killed qualify left (`wipefs -a {}` removes it)", node);
}

std::string in_words(const Signature& signature) {
  if (signature.usage == "partition table") return signature.type + " partition table";
  if (signature.usage == "filesystem") return signature.type + " file system";
  return signature.type + " signature";
}

std::string advice(int error) {
  const bool rights = error == EACCES || error == EPERM;
  return rights && geteuid() != 0 ? "run as root" : "nobody knows what is on it";
}

void find_signatures_on(dev_t number, const Subject& subject, Refusals& refusals) {
  const auto part = describe_device(number, subject.roots);
  if (!part) return;
  const int fd = open(part->node.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    refusals.push_back(
        {RefusalReason::kUnseen, fmt::format("can't be looked into ({}: {}); {}", part->node,
                                             std::strerror(error), advice(error))});
    return;
  }
  try {
    for (const auto& signature : probe_signatures(fd)) {
      const auto where = number == subject.device.number ? "" : " on " + part->name;
      refusals.push_back(
          {RefusalReason::kSignature,
           fmt::format("holds {}{}{}; to destroy it, name the drive: --erase={}",
                       with_article(in_words(signature)), where, origin(signature, part->node),
                       erase_names(subject.stack).front())});
    }
  } catch (const RefusedError& error) {
    refusals.push_back({RefusalReason::kUnseen,
                        fmt::format("can't be looked into ({}): {}", part->node, error.what())});
  }
  close(fd);
}

void find_signatures(const Subject& subject, Refusals& refusals) {
  for (const dev_t number : subject.family) find_signatures_on(number, subject, refusals);
}

using Find = void (*)(const Subject&, Refusals&);
constexpr Find kFinders[] = {find_system_drive, find_results, find_mounts,    find_swap,
                             find_holders,      find_openers, find_read_only, find_signatures};

std::vector<dev_t> occupied_numbers(const DeviceStack& stack, std::vector<dev_t> family) {
  const auto& device = stack.levels.front();
  if (device.kind == LevelKind::kPartition && !device.below.empty()) {
    family.push_back(stack.find(device.below.front())->number);
  }
  return family;
}

}  // namespace

Refusals find_refusals(const DeviceStack& stack, const fs::path& results_dir,
                       const SystemRoots& roots) {
  const auto& device = stack.levels.at(0);
  const auto family = device_family(device.number, roots);
  const Subject subject{stack, device, family, occupied_numbers(stack, family), results_dir, roots};
  Refusals refusals;
  for (const Find find : kFinders) find(subject, refusals);
  return refusals;
}

std::vector<std::string> erase_names(const DeviceStack& stack) {
  const BlockDevice* named = &stack.levels.at(0);
  std::vector<std::string> names;
  if (named->kind == LevelKind::kPartition && !named->below.empty()) {
    named = stack.find(named->below.front());
  }
  if (named->serial) names.push_back(*named->serial);
  if (named->wwid) names.push_back(*named->wwid);
  if (names.empty()) names.push_back(stack.levels.at(0).name);
  return names;
}

}  // namespace plimsoll
