// The devices that other tests take for granted.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "tests/catch.h"
#include "tests/lab/block_devices.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

std::string first_line(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

// Milliseconds of one aligned 4 KiB O_DIRECT read, or -errno.
double direct_read_ms(const std::string& node) {
  const std::unique_ptr<void, decltype(&std::free)> buffer(std::aligned_alloc(4096, 4096),
                                                           std::free);
  const int fd = open(node.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  REQUIRE(fd >= 0);
  const auto start = std::chrono::steady_clock::now();
  const ssize_t got = pread(fd, buffer.get(), 4096, 8192);
  const auto end = std::chrono::steady_clock::now();
  const int error = errno;
  close(fd);
  return got == 4096 ? std::chrono::duration<double, std::milli>(end - start).count() : -error;
}

}  // namespace

TEST_CASE("a loop device has the sector size asked for and is gone with its file") {
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.sector_bytes = 4096});
  if (!loop) return;
  const std::string queue = "/sys/block/" + loop->name() + "/queue/logical_block_size";
  const fs::path file = loop->file();
  const fs::path backing = "/sys/block/" + loop->name() + "/loop/backing_file";
  CHECK(first_line(queue) == "4096");
  CHECK(first_line(backing) == file.string());
  loop.reset();
  CHECK_FALSE(fs::exists(file));
  CHECK_FALSE(fs::exists(backing));
}

TEST_CASE("a zram device comes and goes") {
  auto zram = lab::make<lab::ZramDevice>(64u << 20);
  if (!zram) return;
  const fs::path sysfs = "/sys/block/" + zram->name();
  CHECK(first_line(sysfs / "size") == std::to_string((64u << 20) / 512));
  zram.reset();
  CHECK_FALSE(fs::exists(sysfs));
}

TEST_CASE("an ext4 mount holds files and is gone afterwards") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  auto mount = lab::make<lab::Ext4Mount>(loop->node(), "nobarrier");
  if (!mount) return;
  std::ofstream(mount->path() / "file") << "text";
  CHECK(first_line(mount->path() / "file") == "text");
  const fs::path path = mount->path();
  mount.reset();
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("an nbdkit device delays, errs and pauses as asked") {
  SECTION("delay") {
    auto device = lab::make<lab::NbdkitDevice>(
        lab::NbdkitOptions{.filters = {"delay"}, .parameters = {"delay-read=20ms"}});
    if (!device) return;
    const double took_ms = direct_read_ms(device->node());
    CHECK(took_ms >= 20);
    CHECK(took_ms < 200);
  }
  SECTION("error") {
    auto device = lab::make<lab::NbdkitDevice>(lab::NbdkitOptions{
        .filters = {"error"}, .parameters = {"error=EIO", "error-pread-rate=100%"}});
    if (!device) return;
    CHECK(direct_read_ms(device->node()) == -EIO);
  }
  SECTION("pause") {
    auto device = lab::make<lab::NbdkitDevice>(lab::NbdkitOptions{.filters = {"pause"}});
    if (!device) return;
    device->pause();
    std::jthread waker([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      device->resume();
    });
    CHECK(direct_read_ms(device->node()) >= 90);
  }
}

TEST_CASE("a loop device attached anew has no partition that a killed test left on it") {
  auto first = lab::make<lab::LoopDevice>();
  if (!first) return;
  const std::string name = first->name();
  first->add_partition(1, 1 << 20, 16 << 20);
  REQUIRE(lab::run_program({"losetup", "-d", first->node()}) == 0);
  const fs::path left = "/sys/block/" + name + "/" + name + "p1";
  auto second = lab::make<lab::LoopDevice>();
  if (!second || second->name() != name) return;  // another test run took the name meanwhile
  CHECK_FALSE(fs::exists(left));
}
