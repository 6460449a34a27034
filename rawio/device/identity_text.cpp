// Identity as JSON and in words.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "rawio/device/identity.h"
#include "rawio/device/json_optional.h"

namespace plimsoll {

namespace {

Json to_json(const PcieLink& link) {
  if (!link.speed_gt_s && !link.width) return nullptr;
  return {{"speed_gt_s", or_null(link.speed_gt_s)},
          {"width", or_null(link.width)},
          {"max_speed_gt_s", or_null(link.max_speed_gt_s)},
          {"max_width", or_null(link.max_width)}};
}

}  // namespace

bool FileSystem::barriers_off() const {
  const auto list = "," + mount_options + "," + super_options + ",";
  return list.find(",nobarrier,") != std::string::npos ||
         list.find(",barrier=0,") != std::string::npos;
}

Json to_json(const FileSystem& system) {
  return {{"type", system.type},
          {"source", system.source},
          {"mount_point", system.mount_point},
          {"mount_options", system.mount_options},
          {"super_options", system.super_options},
          {"barriers", !system.barriers_off()},
          {"total_bytes", or_null(system.total_bytes)},
          {"free_bytes", or_null(system.free_bytes)}};
}

Json to_json(const BlockDevice& device) {
  return {{"name", device.name},
          {"node", device.node},
          {"kind", level_kind_name(device.kind)},
          {"model", or_null(device.model)},
          {"firmware", or_null(device.firmware)},
          {"serial", or_null(device.serial)},
          {"wwid", or_null(device.wwid)},
          {"size_bytes", device.size_bytes},
          {"logical_sector_bytes", device.logical_sector_bytes},
          {"physical_sector_bytes", device.physical_sector_bytes},
          {"transport", or_null(device.transport)},
          {"pcie", to_json(device.pcie)},
          {"numa_node", or_null(device.numa_node)},
          {"rotational", or_null(device.rotational)},
          {"removable", or_null(device.removable)},
          {"read_only", or_null(device.read_only)},
          {"write_cache", or_null(device.write_cache)},
          {"fua", or_null(device.fua)},
          {"scheduler", or_null(device.scheduler)},
          {"queue_requests", or_null(device.queue_requests)},
          {"max_io_bytes", or_null(device.max_io_bytes)},
          {"max_discard_bytes", or_null(device.max_discard_bytes)},
          {"iostats", or_null(device.iostats)},
          {"bio_based", device.bio_based},
          {"backing_file", or_null(device.backing_file)},
          {"mapper_name", or_null(device.mapper_name)},
          {"start_bytes", or_null(device.start_bytes)},
          {"below", device.below}};
}

Json to_json(const DeviceStack& stack) {
  Json levels = Json::array();
  for (const auto& level : stack.levels) levels.push_back(to_json(level));
  Json drives = Json::array();
  for (const auto* drive : stack.drives()) drives.push_back(drive->name);
  return {{"path", stack.path},
          {"file_system", stack.file_system ? to_json(*stack.file_system) : Json(nullptr)},
          {"levels", levels},
          {"drives", drives}};
}

std::string format_capacity(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // Rounded to three digits first: 999.7 GB is 1.00 TB.
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string describe(const DeviceStack& stack) {
  std::string text;
  for (const auto* drive : stack.drives()) {
    if (!text.empty()) text += " + ";
    text += fmt::format("{} {}", drive->model.value_or(drive->name),
                        format_capacity(drive->size_bytes));
    if (drive->firmware) text += fmt::format(" (firmware {})", *drive->firmware);
    text += ", " + drive->node;
  }
  if (text.empty()) text = "no drive";
  if (stack.file_system) {
    text += fmt::format(", {} at {}", stack.file_system->type, stack.file_system->mount_point);
  }
  return text;
}

std::string drive_label(const DeviceStack& stack) {
  const auto drives = stack.drives();
  if (drives.empty()) return "memory";
  std::string label = drives.front()->model.value_or(drives.front()->name);
  const auto unfit = [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); };
  std::replace_if(label.begin(), label.end(), unfit, '-');
  return label;
}

}  // namespace plimsoll
