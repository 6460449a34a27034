// The machine's series, and the page cache.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "rawio/device/page_cache.h"
#include "rawio/device/system_sampler.h"
#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

std::map<std::string, double> by_name(const ObserverSample& sample) {
  std::map<std::string, double> values;
  for (const auto& point : sample.points) values[point.source + "." + point.name] = point.value;
  return values;
}

// A /proc whose files a test writes.
class Proc {
 public:
  SystemRoots roots() const { return {"/sys", dir_.path(), "/dev"}; }
  void file(const std::string& path, const std::string& text) {
    fs::create_directories((dir_.path() / path).parent_path());
    std::ofstream(dir_.path() / path) << text;
  }

 private:
  lab::DeviceDir dir_;
};

}  // namespace

TEST_CASE("pressure, processors and memory are read in shares of the interval") {
  Proc proc;
  proc.file("pressure/io",
            "some avg10=1.50 avg60=0.00 avg300=0.00 total=1000\n"
            "full avg10=0.25 avg60=0.00 avg300=0.00 total=500\n");
  proc.file("stat", "cpu  100 0 50 800 20 0 0 10 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  proc.file("meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\nDirty: 4 kB\nWriteback: 2 kB\n");
  SystemSampler sampler(proc.roots());
  sampler.start(0);
  proc.file("pressure/io",
            "some avg10=2.00 avg60=0.00 avg300=0.00 total=251000\n"
            "full avg10=1.00 avg60=0.00 avg300=0.00 total=100500\n");
  proc.file("stat", "cpu  120 20 70 900 30 5 5 20 0 0\n");
  const auto values = by_name(sampler.sample(1'000'000'000));
  CHECK(values.at("psi.some_avg10_pct") == Approx(2.0));
  CHECK(values.at("psi.some_pct") == Approx(25.0));
  CHECK(values.at("psi.full_pct") == Approx(10.0));
  // 190 ticks: 40 user, 30 system, 100 idle, 10 waiting, 10 stolen.
  CHECK(values.at("cpu.user_pct") == Approx(100.0 * 40 / 190));
  CHECK(values.at("cpu.system_pct") == Approx(100.0 * 30 / 190));
  CHECK(values.at("cpu.iowait_pct") == Approx(100.0 * 10 / 190));
  CHECK(values.at("cpu.steal_pct") == Approx(100.0 * 10 / 190));
  CHECK(values.at("memory.dirty_bytes") == 4096);
  CHECK(values.at("memory.writeback_bytes") == 2048);
  CHECK(values.at("memory.available_bytes") == 51200);
}

TEST_CASE("what the kernel doesn't have is absent from the system series") {
  Proc proc;
  proc.file("meminfo", "MemTotal: 100 kB\n");
  SystemSampler sampler(proc.roots());
  sampler.start(0);
  const auto values = by_name(sampler.sample(1'000'000'000));
  CHECK(values.count("psi.some_pct") == 0);
  CHECK(values.count("cpu.user_pct") == 0);
  CHECK(values.count("memory.dirty_bytes") == 0);
}

TEST_CASE("followed processes, temperatures and throttling are in the system series") {
  Proc proc;
  SystemRoots roots = proc.roots();
  roots.sys = roots.proc / "sys-tree";
  const auto stat_of = [](int ticks) {
    return "17 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 " + std::to_string(ticks) + " 10 5 5 20 0 1 0 0";
  };
  proc.file("17/stat", stat_of(100));
  proc.file("sys-tree/class/hwmon/hwmon0/name", "nvme\n");
  proc.file("sys-tree/class/hwmon/hwmon0/temp1_input", "41850\n");
  proc.file("sys-tree/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
  proc.file("sys-tree/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
  SystemSampler sampler(roots);
  sampler.follow({17, 18});
  sampler.start(0);
  proc.file("17/stat", stat_of(100 + static_cast<int>(sysconf(_SC_CLK_TCK)) / 2));
  proc.file("sys-tree/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "6\n");
  const auto values = by_name(sampler.sample(1'000'000'000));
  const double one_cpu_pct = 100.0 / static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  CHECK(values.at("cpu.processes_user_pct") == Approx(0.5 * one_cpu_pct));
  CHECK(values.at("cpu.processes_system_pct") == 0);
  CHECK(values.at("cpu.throttle_events") == 2);
  CHECK(values.at("temperature.nvme_1") == Approx(41.85));
}

TEST_CASE("this process's own processor time is seen") {
  using Clock = std::chrono::steady_clock;
  const auto now_ns = [] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
        .count();
  };
  SystemSampler sampler;
  sampler.start(now_ns());
  const auto end = Clock::now() + std::chrono::milliseconds(100);
  volatile std::uint64_t spun = 0;
  while (Clock::now() < end) spun = spun + 1;
  const auto values = by_name(sampler.sample(now_ns()));
  const double self = values.at("cpu.self_user_pct") + values.at("cpu.self_system_pct");
  CHECK(self > 0);
  CHECK(self <= 101);
}

TEST_CASE("what is resident of a file is seen, and can be dropped") {
  lab::DeviceDir dir("/var/tmp");
  const auto path = dir.path() / "file";
  std::ofstream(path) << std::string(1 << 20, 'x');
  const auto written = page_cache_of(path);
  CHECK(written.size_bytes == 1u << 20);
  CHECK(written.resident_bytes == 1u << 20);
  CHECK(drop_page_cache(path).resident_bytes == 0);
  const int fd = open(path.c_str(), O_RDONLY);
  REQUIRE(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
  char byte = 0;
  REQUIRE(pread(fd, &byte, 1, 500000) == 1);
  close(fd);
  const auto read = page_cache_of(path).resident_bytes;
  CHECK(read > 0);
  CHECK(read < 1u << 20);
}

TEST_CASE("an empty file has nothing resident, an absent one is an error") {
  lab::DeviceDir dir;
  std::ofstream(dir.path() / "empty");
  CHECK(page_cache_of(dir.path() / "empty").resident_bytes == 0);
  CHECK_THROWS_AS(page_cache_of(dir.path() / "absent"), BrokenError);
}

TEST_CASE("the page cache of a block device is seen and dropped") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const int fd = open(loop->node().c_str(), O_RDONLY | O_CLOEXEC);
  char bytes[65536];
  REQUIRE(pread(fd, bytes, sizeof bytes, 0) == sizeof bytes);
  const auto cached = page_cache_of(loop->node());
  CHECK(cached.size_bytes == 64u << 20);
  CHECK(cached.resident_bytes >= sizeof bytes);
  CHECK(drop_page_cache(loop->node()).resident_bytes == 0);
  close(fd);
}

TEST_CASE("the machine's memory is known") {
  const auto memory = machine_memory();
  REQUIRE(memory.has_value());
  CHECK(memory->available_bytes < memory->total_bytes);
}
