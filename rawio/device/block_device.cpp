// One device's facts out of sysfs.
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "rawio/device/identity.h"

namespace plimsoll {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSysfsSector_bytes = 512;  // whatever the device's own sector is

// Where a drive hangs, told by a part of its place in sysfs. The first match counts: a SATA drive
// in a USB case is a USB drive.
struct TransportRow {
  std::string_view part;
  std::string_view transport;
};
constexpr TransportRow kTransports[] = {
    {"/usb", "usb"},       {"/mmc_host/", "mmc"},   {"/session", "iscsi"},
    {"/rport-", "fc"},     {"/end_device-", "sas"}, {"/ata", "sata"},
    {"/virtio", "virtio"}, {"/VMBUS:", "hyper-v"},  {"/vbd-", "xen"},
};

// The nearest folder at or above `folder` that has `file`, within sysfs.
fs::path folder_above(fs::path folder, const std::string& file, const fs::path& top) {
  std::error_code error;
  while (folder.string().size() > top.string().size()) {
    if (fs::exists(folder / file, error)) return folder;
    folder = folder.parent_path();
  }
  return {};
}

// An NVMe namespace hangs on its controller, or, as a multipath head, on the subsystem that lists
// its controllers ("nvme0", not "nvme0n1" or "nvme0c0n1").
fs::path nvme_controller(const fs::path& device) {
  const auto is_controller = [](const std::string& name) {
    return name.starts_with("nvme") && parse_number<int>(std::string_view(name).substr(4));
  };
  std::error_code error;
  if (is_controller(device.filename().string())) return device;
  std::vector<fs::path> controllers;
  for (const auto& entry : fs::directory_iterator(device, error)) {
    if (is_controller(entry.path().filename().string())) controllers.push_back(entry.path());
  }
  if (controllers.empty()) return {};
  return fs::canonical(*std::min_element(controllers.begin(), controllers.end()), error);
}

// "16.0 GT/s PCIe"; "Unknown" gives nothing.
std::optional<double> gigatransfers(const fs::path& path) {
  const auto line = read_line(path);
  return line ? parse_number<double>(line->substr(0, line->find(' '))) : std::nullopt;
}

std::optional<int> lanes(const fs::path& path) {
  const auto width = read_number<int>(path);
  return width && *width > 0 ? width : std::nullopt;
}

PcieLink read_link(const fs::path& controller, const fs::path& top) {
  const auto pci = folder_above(controller, "current_link_speed", top);
  if (pci.empty()) return {};
  return {.speed_gt_s = gigatransfers(pci / "current_link_speed"),
          .width = lanes(pci / "current_link_width"),
          .max_speed_gt_s = gigatransfers(pci / "max_link_speed"),
          .max_width = lanes(pci / "max_link_width")};
}

void read_nvme(BlockDevice& device, const fs::path& controller, const fs::path& top) {
  const auto transport = read_line(controller / "transport");
  device.transport = !transport || *transport == "pcie" ? "nvme" : "nvme-" + *transport;
  device.pcie = read_link(controller, top);
}

// SCSI's page 0x80 is a 4-byte head, then the serial number.
std::optional<std::string> scsi_serial(const fs::path& device) {
  const auto page = read_text(device / "vpd_pg80");
  if (!page || page->size() <= 4) return {};
  const auto serial = trimmed(std::string_view(*page).substr(4));
  return serial.empty() ? std::nullopt : std::optional<std::string>(serial);
}

template <typename T>
std::optional<T> first_of(std::optional<T> first, std::optional<T> second) {
  return first ? first : second;
}

// A SCSI vendor that says something; ATA disks all say "ATA", virtio gives a number.
std::optional<std::string> read_model(const fs::path& device) {
  const auto model = read_line(device / "model");
  const auto vendor = read_line(device / "vendor");
  if (!model || !vendor || *vendor == "ATA" || vendor->starts_with("0x")) return model;
  return *vendor + " " + *model;
}

void read_drive(BlockDevice& drive, const fs::path& disk, const fs::path& top) {
  std::error_code error;
  const auto device = fs::canonical(disk / "device", error);
  if (error) return;
  drive.model = read_model(device);
  drive.firmware = first_of(read_line(device / "firmware_rev"), read_line(device / "rev"));
  drive.serial = first_of(read_line(disk / "serial"),
                          first_of(read_line(device / "serial"), scsi_serial(device)));
  drive.wwid = first_of(read_line(disk / "wwid"), read_line(device / "wwid"));
  const auto controller = nvme_controller(device);
  if (!controller.empty()) read_nvme(drive, controller, top);
  for (const auto& row : kTransports) {
    if (!drive.transport && disk.string().find(row.part) != std::string::npos) {
      drive.transport = row.transport;
    }
  }
  const auto place = controller.empty() ? device : controller;
  const auto node = read_number<int>(folder_above(place, "numa_node", top) / "numa_node");
  if (node && *node >= 0) drive.numa_node = node;
}

// "[none] mq-deadline": the one in brackets.
std::optional<std::string> read_scheduler(const fs::path& path) {
  const auto line = read_line(path);
  if (!line) return {};
  const auto open = line->find('[');
  const auto close = line->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return line;
  return line->substr(open + 1, close - open - 1);
}

void read_queue(BlockDevice& device, const fs::path& queue) {
  device.logical_sector_bytes =
      read_number<std::uint32_t>(queue / "logical_block_size").value_or(512);
  device.physical_sector_bytes = read_number<std::uint32_t>(queue / "physical_block_size")
                                     .value_or(device.logical_sector_bytes);
  device.scheduler = read_scheduler(queue / "scheduler");
  device.write_cache = read_line(queue / "write_cache");
  device.rotational = read_flag(queue / "rotational");
  device.fua = read_flag(queue / "fua");
  device.iostats = read_flag(queue / "iostats");
  device.queue_requests = read_number<int>(queue / "nr_requests");
  device.max_discard_bytes = read_number<std::uint64_t>(queue / "discard_max_bytes");
  const auto max_kib = read_number<std::uint64_t>(queue / "max_sectors_kb");
  if (max_kib) device.max_io_bytes = *max_kib * 1024;
}

LevelKind kind_of(const fs::path& folder, const std::string& name) {
  std::error_code error;
  if (fs::exists(folder / "partition", error)) return LevelKind::kPartition;
  if (fs::exists(folder / "dm", error)) return LevelKind::kMapper;
  if (fs::exists(folder / "md", error)) return LevelKind::kRaid;
  if (fs::exists(folder / "loop", error) || name.starts_with("loop")) return LevelKind::kLoop;
  if (name.starts_with("zram") || name.starts_with("ram")) return LevelKind::kMemory;
  return LevelKind::kDrive;
}

void read_kind(BlockDevice& device, const fs::path& folder, const SystemRoots& roots) {
  switch (device.kind) {
    case LevelKind::kDrive:
      return read_drive(device, folder, roots.sys);
    case LevelKind::kLoop:
      device.backing_file = read_line(folder / "loop/backing_file");
      return;
    case LevelKind::kMapper:
      device.mapper_name = read_line(folder / "dm/name");
      device.wwid = read_line(folder / "dm/uuid");
      return;
    case LevelKind::kRaid:
      device.wwid = read_line(folder / "md/uuid");
      return;
    case LevelKind::kPartition:
      if (const auto start = read_number<std::uint64_t>(folder / "start")) {
        device.start_bytes = *start * kSysfsSector_bytes;
      }
      return;
    case LevelKind::kMemory:
      device.transport = "memory";
      return;
  }
}

}  // namespace

std::string_view level_kind_name(LevelKind kind) {
  switch (kind) {
    case LevelKind::kDrive:
      return "drive";
    case LevelKind::kPartition:
      return "partition";
    case LevelKind::kLoop:
      return "loop";
    case LevelKind::kMapper:
      return "mapper";
    case LevelKind::kRaid:
      return "raid";
    case LevelKind::kMemory:
      return "memory";
  }
  return "drive";
}

bool PcieLink::reduced() const {
  const bool slower = speed_gt_s && max_speed_gt_s && *speed_gt_s < *max_speed_gt_s;
  const bool narrower = width && max_width && *width < *max_width;
  return slower || narrower;
}

std::optional<BlockDevice> describe_device(dev_t number, const SystemRoots& roots) {
  std::error_code error;
  const auto link = roots.sys / fmt::format("dev/block/{}:{}", major(number), minor(number));
  const auto folder = fs::canonical(link, error);
  if (error) return {};
  BlockDevice device;
  device.name = folder.filename().string();
  device.number = number;
  device.kind = kind_of(folder, device.name);
  // The kernel writes a slash in a device's name as '!'.
  std::string node = device.name;
  std::replace(node.begin(), node.end(), '!', '/');
  device.node = (roots.dev / node).string();
  device.size_bytes = read_number<std::uint64_t>(folder / "size").value_or(0) * kSysfsSector_bytes;
  device.read_only = read_flag(folder / "ro");
  const auto disk = device.kind == LevelKind::kPartition ? folder.parent_path() : folder;
  device.removable = read_flag(disk / "removable");
  device.bio_based = !fs::exists(disk / "mq", error);
  read_queue(device, disk / "queue");
  read_kind(device, folder, SystemRoots{fs::canonical(roots.sys), roots.proc, roots.dev});
  return device;
}

}  // namespace plimsoll
