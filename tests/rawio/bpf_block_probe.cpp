// The kernel's counts against I/O whose every request the test issued itself.
#include <atomic>
#include <thread>

#include "rawio/device/bpf/layout.h"
#include "tests/rawio/bpf_lab.h"

using namespace plimsoll;
using lab::kDiscard, lab::kFlush, lab::kRead, lab::kWrite, lab::TimedFile;

namespace {

void check_nothing_lost(const ProbedDisk& disk) {
  CHECK(disk.unmatched == 0);
  CHECK(disk.untracked == 0);
  CHECK(disk.partial == 0);
  CHECK(disk.in_flight == 0);
}

void check_all_zero(const ProbedDisk& disk) {
  for (const auto& operation : disk.operations) {
    CHECK(operation.count == 0);
    CHECK(operation.bytes == 0);
    CHECK(operation.errors == 0);
    CHECK(operation.issued == 0);
    CHECK(operation.d2c.count() == 0);
    CHECK(operation.q2c.count() == 0);
  }
  CHECK(disk.depth.count() == 0);
  CHECK(disk.flush_wait.count() == 0);
}

}  // namespace

TEST_CASE("a bin's midpoint is within 1/64 of any value in it") {
  for (std::uint64_t value = 64; value < std::uint64_t{1} << 42; value += 1 + value / 97) {
    const auto bin = plm_latency_bin(value);
    const auto lowest = plm_bin_units(bin) << PLM_UNIT_BITS;
    const auto width = plm_bin_width(bin) << PLM_UNIT_BITS;
    const double middle = static_cast<double>(lowest + width / 2);
    INFO(value);
    REQUIRE(lowest <= value);
    REQUIRE(value < lowest + width);
    REQUIRE(std::abs(middle - static_cast<double>(value)) <= static_cast<double>(value) / 31.9);
    REQUIRE(static_cast<double>(width) / 2 <= static_cast<double>(lowest) / 31.9);
  }
  CHECK(plm_latency_bin(UINT64_MAX) == PLM_BINS - 1);
  CHECK(plm_latency_bin((std::uint64_t{1} << 42) - 1) == PLM_BINS - 1);
  CHECK(plm_depth_bin(UINT64_MAX) == PLM_DEPTH_BINS - 1);
  CHECK(plm_bin_units(plm_depth_bin(65535)) <= 65535);
}

TEST_CASE("probe counts each operation of a loop device exactly") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  TimedFile file(loop->node());
  const auto disk = lab::probed(lab::settled_disk(loop->name()), [&] {
    for (int i = 0; i < 100; ++i) REQUIRE(file.read(4096, i * 8192));
    for (int i = 0; i < 70; ++i) REQUIRE(file.write(8192, i * 8192));
    for (int i = 0; i < 30; ++i) REQUIRE(file.flush());
    for (int i = 0; i < 5; ++i) REQUIRE(file.discard(i * 65536, 65536));
  });
  CHECK(disk.name == loop->name());
  CHECK(disk.at(kRead).count == 100);
  CHECK(disk.at(kRead).bytes == 100 * 4096);
  CHECK(disk.at(kRead).d2c.count() == 100);
  CHECK(disk.at(kRead).q2c.count() == 100);
  CHECK(disk.at(kWrite).count == 70);
  CHECK(disk.at(kWrite).bytes == 70 * 8192);
  CHECK(disk.at(kFlush).count == 30);
  CHECK(disk.flush_wait.count() == 30);
  CHECK(disk.at(kDiscard).count == 5);
  CHECK(disk.at(kDiscard).bytes == 5 * 65536);
  check_nothing_lost(disk);
}

TEST_CASE("probe counts bios of a zram device exactly") {
  if (!lab::probe_possible()) return;
  auto zram = lab::make<lab::ZramDevice>();
  if (!zram) return;
  TimedFile file(zram->node());
  const auto disk = lab::probed(lab::settled_disk(zram->name()), [&] {
    for (int i = 0; i < 60; ++i) REQUIRE(file.write(16384, i * 16384));
    for (int i = 0; i < 90; ++i) REQUIRE(file.read(4096, i * 4096));
    for (int i = 0; i < 7; ++i) REQUIRE(file.flush());
  });
  CHECK(disk.at(kRead).count == 90);
  CHECK(disk.at(kRead).bytes == 90 * 4096);
  CHECK(disk.at(kRead).q2c.count() == 90);
  CHECK(disk.at(kRead).d2c.count() == 0);
  CHECK(disk.at(kWrite).count == 60);
  CHECK(disk.at(kWrite).bytes == 60 * 16384);
  CHECK(disk.at(kRead).q2c.percentile(50) <= file.reads().percentile(50));
  CHECK(disk.at(kFlush).count == 0);  // no volatile cache: the kernel drops flushes
  check_nothing_lost(disk);
}

TEST_CASE("reads and writes are told apart by size") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  TimedFile file(loop->node());
  const auto disk = lab::probed(lab::settled_disk(loop->name()), [&] {
    const std::size_t sizes[] = {512, 4096, 4608, 8192, 65536, 131072, 262144};
    for (const auto size : sizes) REQUIRE(file.read(size, 0));
  });
  const auto& classes = disk.at(kRead).sizes;
  REQUIRE(classes.size() >= 4);
  CHECK(classes[0].up_to_bytes == 4096);
  CHECK(classes[0].count == 2);
  CHECK(classes[1].up_to_bytes == 8192);
  CHECK(classes[1].count == 2);
  CHECK(classes[2].up_to_bytes == 65536);
  CHECK(classes[2].count == 1);
  std::uint64_t together = 0;
  for (const auto& size_class : classes) together += size_class.count;
  CHECK(together == disk.at(kRead).count);
}

TEST_CASE("sequential and random reads are told apart") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  TimedFile file(loop->node());
  const auto name = lab::settled_disk(loop->name());
  const auto in_order = lab::probed(name, [&] {
    for (int i = 0; i < 40; ++i) REQUIRE(file.read(4096, 1048576 + i * 4096));
  });
  CHECK(in_order.at(kRead).issued == 40);
  CHECK(in_order.at(kRead).sequential == 39);
  const auto scattered = lab::probed(name, [&] {
    for (int i = 0; i < 40; ++i) REQUIRE(file.read(4096, (i * 7919 % 1000) * 8192));
  });
  CHECK(scattered.at(kRead).sequential == 0);
}

TEST_CASE("what was read out is not read out again") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  TimedFile file(loop->node());
  BlockProbe probe({lab::settled_disk(loop->name())});
  for (int i = 0; i < 9; ++i) REQUIRE(file.write(4096, i * 4096));
  REQUIRE(file.flush());
  CHECK(probe.read().at(0).at(kWrite).count > 0);
  check_all_zero(probe.read().at(0));
  check_all_zero(probe.read().at(0));
}

namespace {

struct Seen {
  std::uint64_t counted = 0;
  std::uint64_t timed = 0;
  int readings = 0;
};

// Three callers issue 12,000 reads of `node` while the probe is read out over and over.
Seen read_while_probed(const std::string& node, BlockProbe& probe) {
  std::atomic<int> running{3};
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      TimedFile file(node);
      for (int i = 0; i < 4000; ++i) file.read(4096, i * 4096);
      --running;
    });
  }
  Seen seen;
  const auto take = [&] {
    const auto disk = probe.read().at(0);
    seen.counted += disk.at(kRead).count;
    seen.timed += disk.at(kRead).d2c.count();
    ++seen.readings;
  };
  while (running > 0) take();
  callers.clear();
  take();
  return seen;
}

}  // namespace

// Again where the kernel kept events from the program: it ran as one interrupted it, or a sandbox's
// own process was running. That is no read-out's loss, and not in every run.
TEST_CASE("no count is lost or doubled between readings") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  BlockProbe probe({lab::settled_disk(loop->name())});
  Seen seen;
  for (int tries = 0; tries < 10 && seen.counted != 12000; ++tries) {
    seen = read_while_probed(loop->node(), probe);
    CHECK(seen.counted <= 12000);
    CHECK(seen.timed == seen.counted);
    CHECK(seen.readings > 3);
  }
  CHECK(seen.counted == 12000);
}

TEST_CASE("a failing device's errors are counted by code and not timed") {
  if (!lab::probe_possible()) return;
  auto device = lab::make<lab::NbdkitDevice>(lab::NbdkitOptions{
      .filters = {"error"}, .parameters = {"error-pread-rate=100%", "error-pread=EIO"}});
  if (!device) return;
  TimedFile file(device->node());
  const auto disk = lab::probed(lab::settled_disk(device->name()), [&] {
    for (int i = 0; i < 12; ++i) CHECK_FALSE(file.read(4096, i * 65536));
  });
  CHECK(disk.at(kRead).count == 0);
  CHECK(disk.at(kRead).d2c.count() == 0);
  CHECK(disk.at(kRead).errors == 12);
  CHECK(disk.at(kRead).errors_by_code == std::map<int, std::uint64_t>{{EIO, 12}});
  CHECK(disk.in_flight == 0);
}

// Write-back throttling and schedulers make the kernel keep start times though iostats is off.
TEST_CASE("without iostats every request has a queue time or is counted as one without") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::QueueSetting iostats(loop->name(), "iostats", "0");
  TimedFile file(loop->node());
  const auto disk = lab::probed(lab::settled_disk(loop->name()), [&] {
    for (int i = 0; i < 20; ++i) REQUIRE(file.read(4096, i * 4096));
  });
  CHECK(disk.at(kRead).count == 20);
  CHECK(disk.at(kRead).d2c.count() == 20);
  CHECK(disk.at(kRead).q2c.count() + disk.no_start_time == 20);
}

TEST_CASE("a device without a write cache gets no flush") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::QueueSetting cache(loop->name(), "write_cache", "write through");
  TimedFile file(loop->node());
  const auto disk = lab::probed(lab::settled_disk(loop->name()), [&] {
    REQUIRE(file.write(4096, 0));
    REQUIRE(file.flush());
  });
  CHECK(disk.at(kWrite).count == 1);
  CHECK(disk.at(kFlush).count == 0);
  CHECK(disk.flush_wait.count() == 0);
}

TEST_CASE("several disks are counted apart, and unwatched ones not at all") {
  if (!lab::probe_possible()) return;
  auto first = lab::make<lab::LoopDevice>();
  auto second = lab::make<lab::LoopDevice>();
  auto third = lab::make<lab::LoopDevice>();
  auto zram = lab::make<lab::ZramDevice>();
  if (!first || !second || !third || !zram) return;
  BlockProbe probe({lab::settled_disk(first->name()), lab::settled_disk(zram->name()),
                    probe_disk(second->name())});
  const auto read = [](const std::string& node, int times) {
    TimedFile file(node, O_RDONLY);
    for (int i = 0; i < times; ++i) REQUIRE(file.read(4096, i * 4096));
  };
  read(first->node(), 11);
  read(second->node(), 13);
  read(third->node(), 17);
  read(zram->node(), 19);
  const auto disks = probe.read();
  REQUIRE(disks.size() == 3);
  CHECK(disks[0].at(kRead).count == 11);
  CHECK(disks[1].at(kRead).count == 19);
  CHECK(disks[2].at(kRead).count == 13);
}

TEST_CASE("a disk that is detached while it is probed reads as silent") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  BlockProbe probe({lab::settled_disk(loop->name())});
  {
    TimedFile file(loop->node());
    REQUIRE(file.read(4096, 0));
  }
  loop->detach();
  CHECK(probe.read().at(0).at(kRead).count >= 1);
  check_all_zero(probe.read().at(0));
}

TEST_CASE("a disk that doesn't exist is refused by name") {
  CHECK_THROWS_WITH(probe_disk("nosuchdisk"), "no disk 'nosuchdisk': name one of /sys/block");
}
