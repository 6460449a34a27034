// What a path stands on: the file system, and each block device from the top down to the drives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rawio/device/mounts.h"
#include "rawio/device/sysfs.h"
#include "results/record/record.h"

namespace plimsoll {

enum class LevelKind { kDrive, kPartition, kLoop, kMapper, kRaid, kMemory };
std::string_view level_kind_name(LevelKind kind);  // "drive", "partition", "loop", …

// Of an NVMe drive's PCIe connection: what it runs at and what the drive could.
struct PcieLink {
  std::optional<double> speed_gt_s;  // GT/s a lane
  std::optional<int> width;          // lanes
  std::optional<double> max_speed_gt_s;
  std::optional<int> max_width;
  bool reduced() const;  // known to run below what the drive could
};

// One block device. What the kernel doesn't tell is empty. A partition has the queue's facts of its
// disk; model, firmware and serial belong to drives only.
struct BlockDevice {
  std::string name;  // the kernel's: "nvme0n1", also for multipath heads
  std::string node;  // "/dev/nvme0n1"
  LevelKind kind = LevelKind::kDrive;
  dev_t number = 0;
  std::uint64_t size_bytes = 0;
  std::uint32_t logical_sector_bytes = 512;
  std::uint32_t physical_sector_bytes = 512;
  std::vector<std::string> below;  // names of the levels it stands on; empty: the bottom

  std::optional<std::string> model;
  std::optional<std::string> firmware;
  std::optional<std::string> serial;
  std::optional<std::string> wwid;
  std::optional<std::string> transport;  // "nvme", "nvme-tcp", "sata", "sas", "usb", "virtio", …
  std::optional<std::string> scheduler;  // the one in use: "none", "mq-deadline"
  std::optional<std::string> write_cache;    // "write back" or "write through"
  std::optional<std::string> backing_file;   // of a loop device
  std::optional<std::string> mapper_name;    // of a device-mapper device: "vg-data"
  std::optional<std::uint64_t> start_bytes;  // of a partition, from the start of its disk
  std::optional<bool> rotational;
  std::optional<bool> fua;
  std::optional<bool> iostats;  // false: the kernel counts nothing for it
  std::optional<bool> removable;
  std::optional<bool> read_only;
  std::optional<std::uint64_t> max_io_bytes;       // of one request; larger I/O is split
  std::optional<std::uint64_t> max_discard_bytes;  // 0: the device has no discard
  std::optional<int> queue_requests;
  std::optional<int> numa_node;
  PcieLink pcie;
  // It takes bios, not requests (zram, most of device-mapper and md, NVMe multipath heads): the
  // kernel then counts no flushes for it and times in whole jiffies.
  bool bio_based = false;
};

struct FileSystem {
  std::string type;  // "ext4", "tmpfs"
  std::string source;
  std::string mount_point;
  std::string mount_options;
  std::string super_options;  // where barriers and journal modes stand
  std::optional<std::uint64_t> total_bytes;
  std::optional<std::uint64_t> free_bytes;  // to this user: reserved blocks are not
  bool barriers_off() const;                // flushes are not passed on to the device
};

// Levels stand before those beneath them; each is there once. No level: the path lies on memory or
// the network.
struct DeviceStack {
  std::string path;                       // as asked
  std::optional<FileSystem> file_system;  // of the file; of a block device the one mounted from it
  std::vector<BlockDevice> levels;

  const BlockDevice* find(std::string_view name) const;
  // Those at the bottom: physical drives, or what hides them (a loop device over tmpfs).
  std::vector<const BlockDevice*> drives() const;
};

// `path` is a block device, file or folder; links are followed. Throws UsageError when it doesn't
// exist or is something else.
DeviceStack identify(const std::filesystem::path& path, const SystemRoots& roots = {});

// The same from a device's number. No levels when the kernel doesn't know it.
DeviceStack identify(dev_t number, const SystemRoots& roots = {});

// Throws RefusedError when there is nothing to measure under the path (tmpfs, a network file
// system).
void require_block_device(const DeviceStack& stack);

// One device's own facts, without those beneath. Empty when the kernel doesn't know the number.
std::optional<BlockDevice> describe_device(dev_t number, const SystemRoots& roots = {});

// Every whole device of the machine that holds anything (size over 0), then its partitions after
// it; in the order of names.
std::vector<BlockDevice> all_block_devices(const SystemRoots& roots = {});

// Mounted from this very device in this name space; the same one at several points counts each
// time.
std::vector<FileSystem> mounted_file_systems(dev_t number, const SystemRoots& roots = {});

// Numbers of the partitions of a device and of what is stacked on it or them (md, device-mapper),
// itself first.
std::vector<dev_t> device_family(dev_t number, const SystemRoots& roots = {});

// For Record::set_environment("drive", …): {path, file_system, levels: [], drives: [names]}.
Json to_json(const DeviceStack& stack);
Json to_json(const BlockDevice& device);
Json to_json(const FileSystem& system);

// "Samsung PM9A3 1.92 TB (firmware GDC5602Q), /dev/nvme1n1, ext4 at /mnt/nvme1".
std::string describe(const DeviceStack& stack);
// Short, for a run's folder: the first drive's model without blanks, or its name; "memory" without
// any.
std::string drive_label(const DeviceStack& stack);
// As drives are sold, in powers of 1000: "1.92 TB".
std::string format_capacity(std::uint64_t bytes);

}  // namespace plimsoll
