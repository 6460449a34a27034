// Every refusal on a real device.
#include "rawio/device/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>

#include "rawio/device/signatures.h"
#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

const EraseRequest kErase{.erase = true, .named = "", .results_dir = ""};

EraseRequest named(const std::string& name) {
  return {.erase = true, .named = name, .results_dir = ""};
}

// The message of the refusal; empty when consent was given.
std::string refusal(const std::string& node, const EraseRequest& request) {
  try {
    const auto consent = Consent::obtain(node, request);
    return "";
  } catch (const RefusedError& error) {
    return error.what();
  }
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void write_at(const std::string& node, off_t offset, const std::string& bytes) {
  const int fd = open(node.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(pwrite(fd, bytes.data(), bytes.size(), offset) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(fsync(fd) == 0);
  close(fd);
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int index = 0; index < bytes; ++index) {
    text += static_cast<char>(value >> (8 * index) & 0xff);
  }
  return text;
}

std::string padded(const std::string& text, std::size_t length) {
  return text + std::string(length - text.size(), '\0');
}

// A DOS partition table with one Linux partition.
std::string dos_table() {
  std::string entry =
      std::string("\0\0\0\0\x83\0\0\0", 8) + little_endian(2048, 4) + little_endian(8192, 4);
  return padded("", 446) + padded(entry, 64) + "\x55\xaa";
}

// CRC-32 as GPT and LVM use it; LVM starts it with a value of its own and doesn't invert.
std::uint32_t crc32(std::uint32_t crc, const std::string& bytes) {
  for (const unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return crc;
}

// The label of a physical volume in its sector 1.
std::string lvm_label() {
  const std::string body =
      little_endian(32, 4) + "LVM2 001" + padded("0123456789abcdefghijklmnopqrstuv", 512 - 32);
  return padded("LABELONE", 8) + little_endian(1, 8) + little_endian(crc32(0xf597a6cfu, body), 4) +
         body;
}

// An md superblock of version 1.2, its checksum right.
std::string md_superblock() {
  std::string head = little_endian(0xa92b4efc, 4) + little_endian(1, 4);
  std::string block = padded(head, 256);
  block.replace(128, 8, little_endian(100000, 8));  // data size
  block.replace(144, 8, little_endian(8, 8));       // where the superblock is, in sectors
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < 256; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, block.data() + at, 4);
    sum += word;
  }
  const auto folded = static_cast<std::uint32_t>((sum & 0xffffffff) + (sum >> 32));
  return block.replace(216, 4, little_endian(folded, 4));
}

std::string luks_header() {
  return padded(std::string("LUKS\xba\xbe\0\1", 8) + "aes", 592);
}

// A child that holds the node open until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& node) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    child_ = fork();
    if (child_ == 0) {
      const int fd = open(node.c_str(), O_RDONLY);
      const char byte = fd >= 0 ? 'y' : 'n';
      if (write(ready[1], &byte, 1) == 1) pause();
      _exit(0);
    }
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    REQUIRE(byte == 'y');
    close(ready[0]);
    close(ready[1]);
  }
  ~Holder() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  pid_t pid() const { return child_; }

 private:
  pid_t child_;
};

}  // namespace

TEST_CASE("an empty device is erased with --erase, held exclusively, and opened again") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const auto consent = Consent::obtain(loop->node(), kErase);
  CHECK(consent.stack().levels[0].name == loop->name());
  CHECK(open(loop->node().c_str(), O_RDWR | O_EXCL | O_CLOEXEC) == -1);
  CHECK(errno == EBUSY);
  const int again = consent.open_again(O_RDWR | O_DIRECT);
  CHECK(again >= 0);
  close(again);
}

TEST_CASE("without --erase nothing is written to a block device") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  CHECK(says(refusal(loop->node(), {}), "say so with --erase"));
}

TEST_CASE("erasing a file is wrong usage") {
  lab::DeviceDir dir;
  std::ofstream(dir.path() / "file") << "x";
  CHECK_THROWS_AS(Consent::obtain(dir.path() / "file", kErase), UsageError);
  CHECK_THROWS_AS(Consent::obtain(dir.path() / "absent", kErase), UsageError);
}

TEST_CASE("a mounted device is refused even when named") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  auto mount = lab::make<lab::Ext4Mount>(loop->node());
  if (!mount) return;
  const std::string where = "is mounted at " + mount->path().string() + "; unmount it";
  CHECK(says(refusal(loop->node(), kErase), where));
  CHECK(says(refusal(loop->node(), named(loop->name())), where));
}

TEST_CASE("a device whose partition is mounted is refused even when named") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  loop->add_partition(1, 1 << 20, 32 << 20);
  auto mount = lab::make<lab::Ext4Mount>(loop->node() + "p1");
  if (!mount) return;
  CHECK(says(refusal(loop->node(), named(loop->name())), "is mounted at"));
  CHECK(says(refusal(loop->node() + "p1", named(loop->name() + "p1")), "is mounted at"));
}

TEST_CASE("a device mounted in another name space only is refused") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  if (lab::run_program({"mkfs.ext4", "-q", "-F", loop->node()}) != 0) return;
  lab::DeviceDir dir;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool done = unshare(CLONE_NEWNS) == 0 &&
                      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      mount(loop->node().c_str(), dir.path().c_str(), "ext4", 0, "") == 0;
    const char byte = done ? 'y' : 'n';
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(0);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  close(ready[0]);
  close(ready[1]);
  const auto text = refusal(loop->node(), named(loop->name()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  REQUIRE(byte == 'y');
  CHECK(says(text, "is mounted at " + dir.path().string()));
}

TEST_CASE("swap in use is refused even when named, and its signature when off") {
  // A file on tmpfs can't back swap through a loop device that would need memory to free memory.
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.dir = "/var/tmp"});
  if (!loop) return;
  REQUIRE(lab::run_program({"mkswap", loop->node()}) == 0);
  CHECK(says(refusal(loop->node(), kErase), "holds a swap signature"));
  if (lab::run_program({"swapon", loop->node()}) != 0) {
    std::cout << "SKIPPED: swap in use: swapon failed here" << std::endl;
    return;
  }
  const auto text = refusal(loop->node(), named(loop->name()));
  REQUIRE(lab::run_program({"swapoff", loop->node()}) == 0);
  CHECK(says(text, "is swap in use (" + loop->node() + "); switch it off"));
  CHECK(refusal(loop->node(), named(loop->name())).empty());
}

TEST_CASE("a device that another process holds open is refused even when named") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const Holder holder(loop->node());
  const auto text = refusal(loop->node(), named(loop->name()));
  CHECK(says(text, "is held open by test_rawio (" + std::to_string(holder.pid()) + ")"));
}

TEST_CASE("a device behind a loop device is refused even when named") {
  auto lower = lab::make<lab::LoopDevice>();
  if (!lower) return;
  auto upper = lab::make<lab::LoopDevice>(lab::LoopOptions{.file = lower->node()});
  if (!upper) return;
  const auto text = refusal(lower->node(), named(lower->name()));
  CHECK(says(text, "is part of " + upper->name()));
  CHECK(identify(upper->node()).levels.size() == 2);
}

TEST_CASE("a device claimed with O_EXCL in this process is refused") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const auto first = Consent::obtain(loop->node(), kErase);
  CHECK(says(refusal(loop->node(), kErase), "has claimed it"));
}

TEST_CASE("a read-only device is refused") {
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.read_only = true});
  if (!loop) return;
  CHECK(says(refusal(loop->node(), named(loop->name())), "is read-only"));
}

TEST_CASE("a device that a user may not look into is not his to erase") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool dropped = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    const auto refusals = find_refusals(identify(loop->node()), "");
    const bool unseen = std::any_of(refusals.begin(), refusals.end(), [](const Refusal& one) {
      return one.reason == RefusalReason::kUnseen && !one.waivable() &&
             says(one.text, "run as root");
    });
    ::_exit(dropped && unseen ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("the drive under / is refused even when named") {
  const auto stack = identify("/");
  if (stack.levels.empty()) {
    std::cout << "SKIPPED: the drive under /: / lies on no block device here" << std::endl;
    return;
  }
  // Looked at only: obtaining consent would open the system's drive for writing.
  const auto refusals = find_refusals(identify(stack.levels[0].node), "");
  REQUIRE_FALSE(refusals.empty());
  CHECK(refusals[0].reason == RefusalReason::kSystemDrive);
  CHECK_FALSE(refusals[0].waivable());
}

TEST_CASE("the drive under the results folder is refused even when it is yet to be made") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  auto mount = lab::make<lab::Ext4Mount>(loop->node());
  if (!mount) return;
  const auto refusals = find_refusals(identify(loop->node()), mount->path() / "results/runs/a");
  REQUIRE_FALSE(refusals.empty());
  CHECK(refusals[0].reason == RefusalReason::kResults);
  CHECK(says(refusals[0].text, "--out DIR"));
}

TEST_CASE("every kind of signature is refused, and waived by the device's name alone") {
  struct Row {
    const char* kind;
    off_t offset;
    std::string bytes;
    const char* words;
  };
  const Row rows[] = {
      {"DOS partition table", 0, dos_table(), "holds a dos partition table"},
      {"LVM", 512, lvm_label(), "holds an LVM2_member signature"},
      {"md", 4096, md_superblock(), "holds a linux_raid_member signature"},
      {"LUKS", 0, luks_header(), "holds a crypto_LUKS signature"},
  };
  for (const auto& row : rows) {
    auto loop = lab::make<lab::LoopDevice>();
    if (!loop) return;
    write_at(loop->node(), row.offset, row.bytes);
    INFO(row.kind);
    const auto text = refusal(loop->node(), kErase);
    CHECK(says(text, row.words));
    CHECK(says(text, "--erase=" + loop->name()));
    CHECK(says(refusal(loop->node(), named("loop")), "its name is " + loop->name()));
    CHECK(refusal(loop->node(), named(loop->name())).empty());
  }
}

TEST_CASE("file systems are refused by their signature") {
  for (const std::string type : {"ext4", "xfs", "btrfs"}) {
    if (!lab::has_program("mkfs." + type)) {
      std::cout << "SKIPPED: signature of " << type << ": no mkfs." << type << std::endl;
      continue;
    }
    auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.size_bytes = 400u << 20});
    if (!loop) return;
    const char* force = type == "ext4" ? "-F" : "-f";
    REQUIRE(lab::run_program({"mkfs." + type, "-q", force, loop->node()}) == 0);
    const std::string article = type == "btrfs" ? "a " : "an ";
    CHECK(says(refusal(loop->node(), kErase), "holds " + article + type + " file system; to"));
  }
}

TEST_CASE("the ext4 that a killed qualify left is refused too, and its mend named") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  REQUIRE(lab::run_program({"mkfs.ext4", "-q", "-F", "-L", kQualifyLabel, loop->node()}) == 0);
  CHECK(says(refusal(loop->node(), kErase), "wipefs -a " + loop->node()));
}

TEST_CASE("a signature on a partition is found without a table on the disk") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  write_at(loop->node(), 1 << 20, luks_header());
  CHECK(refusal(loop->node(), kErase).empty());
  loop->add_partition(1, 1 << 20, 32 << 20);
  CHECK(says(refusal(loop->node(), kErase),
             "holds a crypto_LUKS signature on " + loop->name() + "p1"));
}

TEST_CASE("a serial number names the drive, and its kernel name no longer does") {
  DeviceStack stack;
  stack.levels.resize(2);
  stack.levels[0].name = "sda1";
  stack.levels[0].kind = LevelKind::kPartition;
  stack.levels[0].below = {"sda"};
  stack.levels[1].name = "sda";
  stack.levels[1].serial = "S1";
  stack.levels[1].wwid = "naa.5";
  CHECK(erase_names(stack) == std::vector<std::string>{"S1", "naa.5"});
  stack.levels[1].serial.reset();
  stack.levels[1].wwid.reset();
  CHECK(erase_names(stack) == std::vector<std::string>{"sda1"});
}
