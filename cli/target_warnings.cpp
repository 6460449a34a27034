#include "cli/target_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "rawio/device/page_cache.h"
#include "results/base/units.h"

namespace plimsoll::cli {
namespace {

constexpr double kNearlyFull = 0.9;

bool share_a_drive(const DeviceStack& a, const DeviceStack& b) {
  const auto drives = b.drives();
  const auto in_b = [&](const BlockDevice* drive) {
    return std::any_of(drives.begin(), drives.end(),
                       [&](const BlockDevice* other) { return other->number == drive->number; });
  };
  const auto all = a.drives();
  return std::any_of(all.begin(), all.end(), in_b);
}

void warn_of_file_system(Record& record, const FileSystem& system) {
  if (system.barriers_off()) {
    record.warn({"not-durable", fmt::format("{} at {} is mounted without barriers: a flush stops "
                                            "there and never reaches the drive",
                                            system.type, system.mount_point)});
  }
  if (!system.total_bytes || !system.free_bytes || *system.total_bytes == 0) return;
  const double used =
      1.0 - static_cast<double>(*system.free_bytes) / static_cast<double>(*system.total_bytes);
  if (used > kNearlyFull) {
    record.warn({"low-space",
                 fmt::format("the file system at {} is {:.0f} % full ({} left)", system.mount_point,
                             used * 100, format_size(*system.free_bytes))});
  }
}

void warn_of_drives(Record& record, const DeviceStack& stack) {
  for (const BlockDevice* drive : stack.drives()) {
    if (drive->write_cache == "write back") {
      record.warn(
          {"write-cache",
           fmt::format("{} has its volatile write cache on (the kernel flushes it)", drive->node)});
    }
  }
}

}  // namespace

void describe_target(Record& record, const DeviceStack& stack) {
  record.set_environment("drive", to_json(stack));
  if (stack.file_system) warn_of_file_system(record, *stack.file_system);
  warn_of_drives(record, stack);
  if (share_a_drive(stack, identify(record.dir()))) {
    record.warn({"results-on-drive-under-test",
                 fmt::format("the record ({}) lies on the drive under test; --out DIR puts it "
                             "elsewhere",
                             record.dir().string())});
  }
  const Json machine = record.environment().value("machine", Json::object());
  const Json virtualisation = machine.value("virtualisation", Json());
  if (virtualisation.is_string() && virtualisation != "none") {
    record.warn({"virtual-machine",
                 fmt::format("this machine is virtual ({}): the host's caches and neighbours lie "
                             "between it and the drive",
                             virtualisation.get<std::string>())});
  }
}

void warn_if_cached(Record& record, Database& database) {
  const auto memory = database.memory_bytes();
  const std::uint64_t bytes = database.size_bytes();
  if (!memory || bytes >= *memory) return;
  record.warn({"cached",
               fmt::format("the database ({}) fits in the memory it has ({}): its reads are served "
                           "without the drive; only its writes and flushes reach it",
                           format_size(bytes), format_size(*memory))});
}

}  // namespace plimsoll::cli
