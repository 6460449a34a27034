#include "rawio/device/identity.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>

#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

// A sysfs of text files, made for one test.
class Sysfs {
 public:
  SystemRoots roots() const { return {dir_.path() / "sys", dir_.path() / "proc", "/dev"}; }

  void file(const std::string& path, const std::string& text) {
    const auto full = dir_.path() / "sys" / path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << text << '\n';
  }

  void link(const std::string& path, const std::string& target) {
    const auto full = dir_.path() / "sys" / path;
    fs::create_directories(full.parent_path());
    fs::create_symlink(dir_.path() / "sys" / target, full);
  }

  // A block device at devices/PLACE with its number and size, known under dev/block.
  void block(const std::string& place, const std::string& number, std::uint64_t sectors) {
    file(place + "/dev", number);
    file(place + "/size", std::to_string(sectors));
    link("dev/block/" + number, place);
    link("class/block/" + fs::path(place).filename().string(), place);
  }

 private:
  lab::DeviceDir dir_;
};

void add_nvme_controller(Sysfs& sysfs, const std::string& pci) {
  sysfs.file(pci + "/current_link_speed", "8.0 GT/s PCIe");
  sysfs.file(pci + "/current_link_width", "4");
  sysfs.file(pci + "/max_link_speed", "16.0 GT/s PCIe");
  sysfs.file(pci + "/max_link_width", "4");
  sysfs.file(pci + "/numa_node", "1");
  sysfs.file(pci + "/nvme/nvme0/transport", "pcie");
}

void add_identity(Sysfs& sysfs, const std::string& place) {
  sysfs.file(place + "/model", "SAMSUNG MZQL21T9HCJR-00A07              ");
  sysfs.file(place + "/serial", "S64GNE0R123456      ");
  sysfs.file(place + "/firmware_rev", "GDC5602Q");
}

void check_samsung(const BlockDevice& drive) {
  CHECK(drive.kind == LevelKind::kDrive);
  CHECK(drive.model == "SAMSUNG MZQL21T9HCJR-00A07");
  CHECK(drive.serial == "S64GNE0R123456");
  CHECK(drive.firmware == "GDC5602Q");
  CHECK(drive.size_bytes == 1920383410176);
  CHECK(drive.transport == "nvme");
  CHECK(drive.numa_node == 1);
  CHECK(drive.pcie.speed_gt_s == 8.0);
  CHECK(drive.pcie.max_speed_gt_s == 16.0);
  CHECK(drive.pcie.width == 4);
  CHECK(drive.pcie.reduced());
}

constexpr std::uint64_t kSectors = 1920383410176 / 512;

}  // namespace

TEST_CASE("an NVMe drive and its partition are identified from sysfs") {
  Sysfs sysfs;
  const std::string pci = "devices/pci0000:00/0000:00:01.1/0000:01:00.0";
  const std::string disk = pci + "/nvme/nvme0/nvme0n1";
  add_nvme_controller(sysfs, pci);
  add_identity(sysfs, pci + "/nvme/nvme0");
  sysfs.block(disk, "259:0", kSectors);
  sysfs.link(disk + "/device", pci + "/nvme/nvme0");
  sysfs.file(disk + "/mq/0/nr_tags", "1023");
  sysfs.file(disk + "/wwid", "eui.36344730521234560025384e00000001");
  sysfs.file(disk + "/queue/scheduler", "[none] mq-deadline");
  sysfs.file(disk + "/queue/logical_block_size", "4096");
  sysfs.file(disk + "/queue/physical_block_size", "4096");
  sysfs.file(disk + "/queue/write_cache", "write through");
  sysfs.file(disk + "/queue/rotational", "0");
  sysfs.file(disk + "/queue/iostats", "0");
  sysfs.file(disk + "/queue/max_sectors_kb", "128");
  sysfs.block(disk + "/nvme0n1p2", "259:2", 2048);
  sysfs.file(disk + "/nvme0n1p2/partition", "2");
  sysfs.file(disk + "/nvme0n1p2/start", "4096");

  const auto stack = identify(makedev(259, 2), sysfs.roots());
  REQUIRE(stack.levels.size() == 2);
  const auto& partition = stack.levels[0];
  CHECK(partition.name == "nvme0n1p2");
  CHECK(partition.kind == LevelKind::kPartition);
  CHECK(partition.size_bytes == 1048576);
  CHECK(partition.start_bytes == 2097152u);
  CHECK(partition.logical_sector_bytes == 4096);  // its own folder has no queue/
  CHECK_FALSE(partition.model.has_value());
  CHECK(partition.below == std::vector<std::string>{"nvme0n1"});

  const auto& drive = stack.levels[1];
  check_samsung(drive);
  CHECK(drive.wwid == "eui.36344730521234560025384e00000001");
  CHECK(drive.scheduler == "none");
  CHECK(drive.write_cache == "write through");
  CHECK(drive.rotational == false);
  CHECK(drive.iostats == false);
  CHECK(drive.max_io_bytes == 131072u);
  CHECK_FALSE(drive.bio_based);
  CHECK_FALSE(drive.removable.has_value());
  CHECK(stack.drives() == std::vector<const BlockDevice*>{&stack.levels[1]});
  CHECK(describe(stack) == "SAMSUNG MZQL21T9HCJR-00A07 1.92 TB (firmware GDC5602Q), /dev/nvme0n1");
  CHECK(device_family(makedev(259, 0), sysfs.roots()) ==
        std::vector<dev_t>{makedev(259, 0), makedev(259, 2)});
}

TEST_CASE("an NVMe multipath head is identified through its subsystem's controller") {
  Sysfs sysfs;
  const std::string pci = "devices/pci0000:00/0000:01:00.0";
  const std::string subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0";
  add_nvme_controller(sysfs, pci);
  add_identity(sysfs, subsystem);
  sysfs.block(subsystem + "/nvme0n1", "259:1", kSectors);
  sysfs.link(subsystem + "/nvme0n1/device", subsystem);
  sysfs.link(subsystem + "/nvme0", pci + "/nvme/nvme0");
  sysfs.block(pci + "/nvme/nvme0/nvme0c0n1", "259:9", kSectors);
  sysfs.file(pci + "/nvme/nvme0/nvme0c0n1/hidden", "1");

  const auto stack = identify(makedev(259, 1), sysfs.roots());
  REQUIRE(stack.levels.size() == 1);
  CHECK(stack.levels[0].name == "nvme0n1");
  CHECK(stack.levels[0].bio_based);
  check_samsung(stack.levels[0]);
  const auto all = all_block_devices(sysfs.roots());
  REQUIRE(all.size() == 1);  // the hidden path device is not a drive of its own
  CHECK(all[0].name == "nvme0n1");
}

TEST_CASE("a SATA drive under md and device-mapper is followed to the bottom") {
  Sysfs sysfs;
  const std::string pci = "devices/pci0000:00/0000:00:17.0";
  const std::string scsi = pci + "/ata1/host0/target0:0:0/0:0:0:0";
  for (const std::string name : {"sda", "sdb"}) {
    sysfs.block(scsi + "/block/" + name, name == "sda" ? "8:0" : "8:16", 1000);
    sysfs.link(scsi + "/block/" + name + "/device", scsi);
  }
  sysfs.file(scsi + "/model", "INTEL SSDSC2KB96");
  sysfs.file(scsi + "/vendor", "ATA     ");
  sysfs.file(scsi + "/rev", "0110");
  sysfs.file(scsi + "/wwid", "naa.55cd2e4150000001");
  sysfs.file(scsi + "/vpd_pg80", std::string("\0\x80\0\x12", 4) + "BTYF12345678960CGN");
  sysfs.block("devices/virtual/block/md0", "9:0", 1900);
  sysfs.file("devices/virtual/block/md0/md/level", "raid0");
  sysfs.link("devices/virtual/block/md0/slaves/sda", scsi + "/block/sda");
  sysfs.link("devices/virtual/block/md0/slaves/sdb", scsi + "/block/sdb");
  sysfs.block("devices/virtual/block/dm-0", "253:0", 1800);
  sysfs.file("devices/virtual/block/dm-0/dm/name", "vg-data");
  sysfs.file("devices/virtual/block/dm-0/dm/uuid", "LVM-abc");
  sysfs.link("devices/virtual/block/dm-0/slaves/md0", "devices/virtual/block/md0");
  sysfs.link("devices/virtual/block/md0/holders/dm-0", "devices/virtual/block/dm-0");
  sysfs.link(scsi + "/block/sda/holders/md0", "devices/virtual/block/md0");

  const auto stack = identify(makedev(253, 0), sysfs.roots());
  REQUIRE(stack.levels.size() == 4);
  CHECK(stack.levels[0].mapper_name == "vg-data");
  CHECK(stack.levels[1].kind == LevelKind::kRaid);
  CHECK(stack.levels[1].below == std::vector<std::string>{"sda", "sdb"});
  const auto& sda = stack.levels[2];
  CHECK(sda.model == "INTEL SSDSC2KB96");
  CHECK(sda.firmware == "0110");
  CHECK(sda.serial == "BTYF12345678960CGN");
  CHECK(sda.wwid == "naa.55cd2e4150000001");
  CHECK(sda.transport == "sata");
  CHECK_FALSE(sda.pcie.speed_gt_s.has_value());
  CHECK(stack.drives().size() == 2);
  CHECK(device_family(makedev(8, 0), sysfs.roots()) ==
        std::vector<dev_t>{makedev(8, 0), makedev(9, 0), makedev(253, 0)});
}

TEST_CASE("what the kernel doesn't tell is null in JSON") {
  Sysfs sysfs;
  sysfs.block("devices/virtual/block/pmem0", "259:7", 8);
  const auto json = to_json(identify(makedev(259, 7), sysfs.roots()));
  const auto& level = json["levels"][0];
  for (const char* key : {"model", "serial", "pcie", "rotational", "iostats", "max_io_bytes"}) {
    CHECK(level[key].is_null());
  }
  CHECK(level["size_bytes"] == 4096);
  CHECK(json["file_system"].is_null());
}

TEST_CASE("mountinfo is read with its escapes and optional fields") {
  const auto mounts = parse_mounts(
      "36 35 98:0 /mnt1 /mnt/my\\040disk rw,noatime master:1 shared:2 - ext4 /dev/root "
      "rw,nobarrier\n"
      "not a mount\n"
      "40 35 0:31 / /data rw - btrfs /dev/sda1 rw,subvol=/\n");
  REQUIRE(mounts.size() == 2);
  CHECK(mounts[0].point == "/mnt/my disk");
  CHECK(mounts[0].device == makedev(98, 0));
  CHECK(mounts[0].root == "/mnt1");
  CHECK(mounts[0].super_options == "rw,nobarrier");
  CHECK(mounts[1].type == "btrfs");
}

TEST_CASE("a file is followed through ext4, a partition and a loop device to its drive") {
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.dir = "/var/tmp"});
  if (!loop) return;
  loop->add_partition(1, 1 << 20, 32 << 20);
  auto mount = lab::make<lab::Ext4Mount>(loop->node() + "p1", "nobarrier");
  if (!mount) return;
  std::ofstream(mount->path() / "file") << "x";

  const auto stack = identify(mount->path() / "file");
  REQUIRE(stack.file_system.has_value());
  CHECK(stack.file_system->type == "ext4");
  CHECK(stack.file_system->mount_point == mount->path().string());
  CHECK(stack.file_system->barriers_off());
  CHECK(stack.file_system->total_bytes > 20u << 20);
  CHECK(stack.file_system->free_bytes < stack.file_system->total_bytes);
  REQUIRE(stack.levels.size() >= 2);
  CHECK(stack.levels[0].name == loop->name() + "p1");
  CHECK(stack.levels[0].start_bytes == 1u << 20);
  CHECK(stack.levels[1].backing_file == loop->file().string());
  struct stat facts {};
  REQUIRE(stat("/var/tmp", &facts) == 0);
  if (major(facts.st_dev) != 0) {
    REQUIRE(stack.levels.size() >= 3);
    CHECK(stack.levels[2].number == facts.st_dev);
    CHECK(stack.levels[1].below == std::vector<std::string>{stack.levels[2].name});
  }
  CHECK(identify(loop->node() + "p1").file_system->mount_point == mount->path().string());
}

TEST_CASE("a 4Kn loop device gives its sector size") {
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.sector_bytes = 4096});
  if (!loop) return;
  const auto stack = identify(loop->node());
  CHECK(stack.levels[0].logical_sector_bytes == 4096);
  CHECK(stack.levels[0].size_bytes == 64u << 20);
  CHECK(stack.drives()[0]->name == loop->name());  // over tmpfs there is nothing beneath
}

TEST_CASE("a path on tmpfs has no drive, and saying so names the mend") {
  lab::DeviceDir dir;
  const auto stack = identify(dir.path());
  CHECK(stack.levels.empty());
  CHECK(stack.file_system->type == "tmpfs");
  CHECK(drive_label(stack) == "memory");
  CHECK_THROWS_AS(require_block_device(stack), RefusedError);
}

TEST_CASE("a path that doesn't exist or is no target is wrong usage") {
  CHECK_THROWS_AS(identify("/no/such/path"), UsageError);
  CHECK_THROWS_AS(identify("/dev/null"), UsageError);
}

TEST_CASE("capacities read as drives are sold") {
  CHECK(format_capacity(1920383410176) == "1.92 TB");
  CHECK(format_capacity(999'700'000'000) == "1.00 TB");
  CHECK(format_capacity(512) == "512 B");
  CHECK(format_capacity(68'719'476'736) == "68.7 GB");
}
