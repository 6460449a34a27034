// The probe's latencies against devices of known delay and against what callers measured.
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "results/base/error.h"
#include "tests/lab/process.h"
#include "tests/rawio/bpf_lab.h"

using namespace plimsoll;
using lab::kFlush, lab::kRead, lab::kWrite, lab::TimedFile;

namespace {

std::unique_ptr<lab::NbdkitDevice> delayed_device() {
  return lab::make<lab::NbdkitDevice>(lab::NbdkitOptions{
      .filters = {"delay"}, .parameters = {"delay-read=50ms", "delay-write=100ms"}});
}

// A device whose writes and flushes take as long as a sleep in a shell.
std::unique_ptr<lab::NbdkitDevice> slow_flush_device(const std::string& flush_s) {
  return lab::make<lab::NbdkitDevice>(lab::NbdkitOptions{
      .plugin = {"eval", "get_size=echo 64M", "can_write=exit 0", "can_flush=exit 0",
                 "pread=head -c $3 /dev/zero", "pwrite=cat > /dev/null; sleep 0.005",
                 "flush=sleep " + flush_s}});
}

// Where most values lie; the probe's bins are 1/32 wide.
std::int64_t peak_ns(const Histogram& histogram) {
  std::int64_t peak = 0;
  std::uint64_t most = 0;
  histogram.for_each_bucket([&](std::int64_t lowest, std::int64_t highest, std::uint64_t count) {
    if (count > most) peak = (lowest + highest) / 2;
    most = std::max(most, count);
  });
  return peak;
}

// Between the device's delay and what the caller saw, who may be woken late on a busy machine.
void check_between(const Histogram& seen, std::int64_t floor_ns, const Histogram& caller) {
  for (const double percent : {25.0, 50.0, 75.0}) {
    INFO("p" << percent << ": " << seen.percentile(percent) << " ns seen, "
             << caller.percentile(percent) << " ns at the caller");
    CHECK(seen.percentile(percent) >= floor_ns * 0.98);
    CHECK(seen.percentile(percent) <= caller.percentile(percent) * 1.02);
    CHECK(seen.percentile(percent) >= caller.percentile(percent) * 0.9);
  }
}

// A child that loads the probe of `disk`, writes the ids of its programs to `out` and waits.
[[noreturn]] void probe_until_killed(const std::string& disk, int out) {
  BlockProbe probe({probe_disk(disk)});
  std::string ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(entry.path());
    for (std::string line; std::getline(info, line);) {
      if (line.rfind("prog_id:", 0) == 0) ids += line.substr(8) + " ";
    }
  }
  if (write(out, ids.c_str(), ids.size()) < 0) _exit(1);
  close(out);
  while (true) pause();
}

bool program_is_loaded(const std::string& id) {
  return lab::run_process({"bpftool", "prog", "show", "id", id}).exit_code == 0;
}

void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  syscall(SYS_capset, &header, none);
}

}  // namespace

TEST_CASE("the histogram peaks at a device's known delay within 3 %", "[slow]") {
  if (!lab::probe_possible()) return;
  auto device = delayed_device();
  if (!device) return;
  TimedFile file(device->node());
  const auto disk = lab::probed(lab::settled_disk(device->name()), [&] {
    for (int i = 0; i < 24; ++i) REQUIRE(file.read(4096, i * 65536));
    for (int i = 0; i < 12; ++i) REQUIRE(file.write(4096, i * 65536));
  });
  CHECK(disk.at(kRead).count == 24);
  CHECK(disk.at(kWrite).count == 12);
  CHECK(peak_ns(disk.at(kRead).d2c) == Approx(50e6).epsilon(0.03));
  CHECK(peak_ns(disk.at(kRead).q2c) == Approx(50e6).epsilon(0.03));
  CHECK(peak_ns(disk.at(kWrite).d2c) == Approx(100e6).epsilon(0.03));
  check_between(disk.at(kRead).d2c, 50'000'000, file.reads());
  check_between(disk.at(kWrite).d2c, 100'000'000, file.writes());
  CHECK(disk.at(kRead).q2c.sum() >= disk.at(kRead).d2c.sum());
  CHECK(disk.at(kRead).q2c.sum() <= file.reads().sum());
}

TEST_CASE("requests in flight together are seen as depth") {
  if (!lab::probe_possible()) return;
  auto device = delayed_device();
  if (!device) return;
  const auto disk = lab::probed(lab::settled_disk(device->name()), [&] {
    {
      std::vector<std::jthread> callers;
      for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&, caller] {
          TimedFile file(device->node(), O_RDONLY);
          for (int i = 0; i < 5; ++i) file.read(4096, (caller * 100 + i) * 65536);
        });
      }
    }
  });
  CHECK(disk.at(kRead).count == 20);
  CHECK(disk.depth.count() == 20);
  CHECK(disk.depth.max() >= 3);
  CHECK(disk.depth.max() <= 4);
  CHECK(disk.in_flight == 0);
}

TEST_CASE("an fsync's time is split into its write and its flush") {
  if (!lab::probe_possible()) return;
  auto device = slow_flush_device("0.015");
  if (!device) return;
  const lab::QueueSetting cache(device->name(), "write_cache", "write back");
  TimedFile file(device->node());
  const auto disk = lab::probed(lab::settled_disk(device->name()), [&] {
    for (int i = 0; i < 20; ++i) {
      REQUIRE(file.write(4096, i * 4096));
      REQUIRE(file.flush());
    }
  });
  CHECK(disk.at(kWrite).count == 20);
  CHECK(disk.at(kFlush).count == 20);
  check_between(disk.at(kWrite).d2c, 5'000'000, file.writes());
  check_between(disk.at(kFlush).d2c, 15'000'000, file.flushes());
  check_between(disk.flush_wait, 15'000'000, file.flushes());
}

TEST_CASE("a flush that waits for another's is seen in the callers' wait alone") {
  if (!lab::probe_possible()) return;
  auto device = slow_flush_device("0.01");
  if (!device) return;
  const lab::QueueSetting cache(device->name(), "write_cache", "write back");
  const auto disk = lab::probed(lab::settled_disk(device->name()), [&] {
    {
      std::vector<std::jthread> callers;
      for (int caller = 0; caller < 6; ++caller) {
        callers.emplace_back([&] {
          TimedFile file(device->node());
          for (int i = 0; i < 5; ++i) file.flush();
        });
      }
    }
  });
  CHECK(disk.flush_wait.count() == 30);
  CHECK(disk.at(kFlush).count < 30);
  CHECK(disk.at(kFlush).count >= 5);
  CHECK(disk.flush_wait.percentile(75) > disk.at(kFlush).d2c.percentile(75) * 1.1);
}

TEST_CASE("processes are told apart, with their children") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  BlockProbe probe({lab::settled_disk(loop->name())}, {.tell_processes_apart = true});
  const auto read_with_dd = [&](int blocks) {
    const auto done = lab::run_process({"dd", "if=" + loop->node(), "of=/dev/null", "bs=4096",
                                        "iflag=direct", "count=" + std::to_string(blocks)});
    REQUIRE(done.exit_code == 0);
  };
  const auto direct_reads = [](const ProbedDisk& disk) {
    for (const auto& sizes : disk.at(kRead).sizes) {
      if (sizes.up_to_bytes == 4096) return sizes.count;
    }
    return std::uint64_t{0};
  };
  read_with_dd(23);
  auto groups = probe.read();
  REQUIRE(groups.size() == 3);
  CHECK(groups[1].group == "rest");
  CHECK(direct_reads(groups[0]) == 0);
  CHECK(direct_reads(groups[1]) >= 23);
  probe.add_process(getpid());
  read_with_dd(31);
  {
    TimedFile file(loop->node(), O_RDONLY);
    for (int i = 0; i < 9; ++i) REQUIRE(file.read(4096, i * 4096));
  }
  groups = probe.read();
  CHECK(direct_reads(groups[0]) == 40);
}

TEST_CASE("the kernel counts what the probe costs") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  BlockProbe probe({lab::settled_disk(loop->name())}, {.measure_cost = true});
  TimedFile file(loop->node());
  for (int i = 0; i < 200; ++i) REQUIRE(file.read(4096, i * 4096));
  probe.read();
  CHECK(probe.cost().runs >= 400);
  CHECK(probe.cost().time_ns > 0);
  CHECK(probe.cost().time_ns / static_cast<std::int64_t>(probe.cost().runs) < 5000);
}

TEST_CASE("without capabilities the probe is refused and says what it needs") {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    drop_capabilities();
    const bool obstacle = !probe_obstacle().empty();
    try {
      BlockProbe probe({ProbeDisk{.name = "none", .major = 7, .hardware_queues = 1}});
    } catch (const RefusedError& error) {
      const std::string text = error.what();
      _exit(obstacle && text.find("CAP_BPF") != std::string::npos ? 0 : 2);
    } catch (...) {
      _exit(3);
    }
    _exit(4);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a killed process leaves no program in the kernel") {
  if (!lab::probe_possible()) return;
  if (!lab::has_program("bpftool")) return lab::skip("no bpftool in PATH");
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    probe_until_killed(loop->name(), ends[1]);
  }
  close(ends[1]);
  std::string ids;
  char part[256];
  for (ssize_t got; (got = read(ends[0], part, sizeof(part))) > 0;) ids.append(part, got);
  close(ends[0]);
  std::istringstream words(ids);
  std::vector<std::string> programs;
  for (std::string id; words >> id;) programs.push_back(id);
  CHECK(programs.size() >= 3);
  for (const auto& id : programs) CHECK(program_is_loaded(id));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const auto& id : programs) {
    bool loaded = true;  // the kernel frees them after a grace period
    for (int tries = 0; tries < 50 && loaded; ++tries) {
      loaded = program_is_loaded(id);
      if (loaded) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    CHECK_FALSE(loaded);
  }
}
