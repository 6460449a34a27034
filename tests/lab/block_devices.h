// Real block devices made for a test, and gone after it. Each is owned by its object: the
// destructor unmounts, detaches and removes, also when the test failed. What a killed test left
// behind is removed by the next one on the machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/lab/process.h"

namespace plimsoll::lab {

// This machine lacks what the device needs; what() says what.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Makes a T, or prints `SKIPPED: <test>: <why>` and returns null:
//   auto loop = lab::make<lab::LoopDevice>(options);
//   if (!loop) return;
template <typename T, typename... Args>
std::unique_ptr<T> make(Args&&... args) {
  try {
    return std::make_unique<T>(std::forward<Args>(args)...);
  } catch (const Unavailable& reason) {
    std::cout << "SKIPPED: " << Catch::getResultCapture().getCurrentTestName() << ": "
              << reason.what() << std::endl;
    return nullptr;
  }
}

// Runs a program (found in PATH or /usr/sbin) with its output discarded and returns its exit code,
// 127 when there is no such program.
int run_program(const std::vector<std::string>& argv);

// A folder in /dev/shm (or `parent`), removed with its contents.
class DeviceDir {
 public:
  explicit DeviceDir(const std::filesystem::path& parent = "/dev/shm");
  ~DeviceDir();
  DeviceDir(const DeviceDir&) = delete;
  DeviceDir& operator=(const DeviceDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct LoopOptions {
  std::uint64_t size_bytes = 64u << 20;  // of the file made; ignored when `file` is given
  std::uint32_t sector_bytes = 512;      // logical: 512..4096
  bool direct_io = false;                // the file must lie where O_DIRECT works
  bool read_only = false;
  bool iostats = true;           // the kernel keeps what the last user of the loop device chose
  bool scan_partitions = false;  // at attaching
  std::filesystem::path dir = "/dev/shm";  // where the file is made
  std::filesystem::path file = {};         // an existing file instead; it is kept
};

// A loop device over a file; its node is closed, so that nothing holds it open.
class LoopDevice {
 public:
  explicit LoopDevice(const LoopOptions& options = {});
  ~LoopDevice();
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;

  std::string node() const { return "/dev/" + name(); }  // "/dev/loop7"
  std::string name() const { return "loop" + std::to_string(index_); }
  const std::filesystem::path& file() const { return file_; }
  void detach();  // at once, as if pulled out; later calls do nothing
  // Makes the kernel know partition 1..n of [start, start + length) bytes; nothing is written.
  void add_partition(int number, std::uint64_t start_bytes, std::uint64_t length_bytes);

 private:
  std::unique_ptr<DeviceDir> made_;
  std::filesystem::path file_;
  int index_ = -1;
};

// A zram device of its own (hot_add), so that zram0 stays free for benchmarks. Its queue/iostats
// starts at 0.
class ZramDevice {
 public:
  explicit ZramDevice(std::uint64_t size_bytes = 256u << 20);
  ~ZramDevice();
  ZramDevice(const ZramDevice&) = delete;
  ZramDevice& operator=(const ZramDevice&) = delete;

  std::string node() const { return "/dev/" + name(); }
  std::string name() const { return "zram" + std::to_string(index_); }

 private:
  int index_ = -1;
};

struct NbdkitOptions {
  std::vector<std::string> filters = {};  // "delay", "error", "pause"
  std::vector<std::string> plugin = {"memory", "256M"};
  std::vector<std::string> parameters = {};  // "delay-read=2ms", "error-pread-rate=1%"
  std::uint32_t sector_bytes = 512;
};

// A loop device (direct I/O) over a file that nbdkit serves through nbdfuse: known latency, errors
// or pauses. With the filter "pause", pause() and resume() hold and release all requests.
class NbdkitDevice {
 public:
  explicit NbdkitDevice(const NbdkitOptions& options);
  ~NbdkitDevice();
  NbdkitDevice(const NbdkitDevice&) = delete;
  NbdkitDevice& operator=(const NbdkitDevice&) = delete;

  std::string node() const { return loop_->node(); }
  std::string name() const { return loop_->name(); }
  void pause();
  void resume();

 private:
  void stop();
  void control(char command);

  DeviceDir dir_;
  pid_t server_ = -1;
  std::unique_ptr<LoopDevice> loop_;
};

// A fresh ext4 on `node`, mounted in a folder of its own.
class Ext4Mount {
 public:
  explicit Ext4Mount(const std::string& node, const std::string& mount_options = "");
  ~Ext4Mount();
  Ext4Mount(const Ext4Mount&) = delete;
  Ext4Mount& operator=(const Ext4Mount&) = delete;
  const std::filesystem::path& path() const { return dir_.path(); }

 private:
  DeviceDir dir_;
};

}  // namespace plimsoll::lab
