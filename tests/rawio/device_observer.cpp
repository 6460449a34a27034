#include "rawio/device/observer.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "rawio/device/block_stat_observer.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"

using namespace plimsoll;

namespace {

// The kernel counts a request just after it has woken the one who waits for it.
void settle() {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// Direct I/O of known count, without Plimsoll's engines.
class IssuedIo {
 public:
  explicit IssuedIo(const std::string& node)
      : fd_(open(node.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC)),
        buffer_(static_cast<char*>(std::aligned_alloc(4096, kLargest)), std::free) {
    REQUIRE(fd_ >= 0);
    std::fill_n(buffer_.get(), kLargest, 'p');
  }
  ~IssuedIo() { close(fd_); }
  void read(int times, std::size_t bytes) {
    for (int index = 0; index < times; ++index) {
      REQUIRE(pread(fd_, buffer_.get(), bytes, index * 65536) == static_cast<ssize_t>(bytes));
    }
  }
  void write(int times, std::size_t bytes) {
    for (int index = 0; index < times; ++index) {
      REQUIRE(pwrite(fd_, buffer_.get(), bytes, index * 65536) == static_cast<ssize_t>(bytes));
    }
  }
  void flush(int times) {
    for (int index = 0; index < times; ++index) REQUIRE(fsync(fd_) == 0);
  }
  void discard(std::uint64_t offset, std::uint64_t bytes) {
    std::uint64_t range[2] = {offset, bytes};
    REQUIRE(ioctl(fd_, BLKDISCARD, range) == 0);
  }

 private:
  static constexpr std::size_t kLargest = 65536;
  int fd_;
  std::unique_ptr<char, decltype(&std::free)> buffer_;
};

const IntervalRow* find_row(const ObserverSample& sample, const std::string& source,
                            const std::string& operation) {
  const auto found = std::find_if(sample.rows.begin(), sample.rows.end(), [&](const auto& row) {
    return row.source == source && row.operation == operation;
  });
  return found == sample.rows.end() ? nullptr : &*found;
}

IntervalRow row_of(const ObserverSample& sample, const std::string& source,
                   const std::string& operation) {
  const auto* row = find_row(sample, source, operation);
  REQUIRE(row != nullptr);
  return *row;
}

bool warns(const ObserverSample& sample, const std::string& id) {
  return std::any_of(sample.warnings.begin(), sample.warnings.end(),
                     [&](const Warning& warning) { return warning.id == id; });
}

}  // namespace

TEST_CASE("the 11, 15 and 17 fields of block statistics are read") {
  const auto old = parse_block_stat("1 2 3 4 5 6 7 8 9 10 11\n");
  REQUIRE(old.has_value());
  CHECK(old->read.count == 1);
  CHECK(old->read.bytes == 3 * 512);
  CHECK(old->read.time_ms == 4);
  CHECK(old->write.count == 5);
  CHECK(old->write.bytes == 7 * 512);
  CHECK(old->in_flight == 9);
  CHECK_FALSE(old->discard.has_value());
  CHECK_FALSE(old->flush.has_value());
  const auto now = parse_block_stat("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17");
  REQUIRE(now.has_value());
  CHECK(now->discard->count == 12);
  CHECK(now->discard->bytes == 14 * 512);
  CHECK(now->flush->count == 16);
  CHECK(now->flush->time_ms == 17);
  CHECK_FALSE(parse_block_stat("1 2 3").has_value());
  CHECK_FALSE(parse_block_stat("a b c d e f g h i j k").has_value());
}

TEST_CASE("the time counter's wrap at 2^32 ms is no loss") {
  const OperationCounters before{.count = 10, .bytes = 40, .time_ms = 0xffff'fff0};
  const OperationCounters after{.count = 12, .bytes = 48, .time_ms = 0x10};
  const auto done = counters_between(before, after);
  REQUIRE(done.has_value());
  CHECK(done->count == 2);
  CHECK(done->time_ms == 0x20);
  CHECK_FALSE(counters_between(after, before).has_value());
}

TEST_CASE("counts and bytes of a loop device equal the I/O issued, exactly") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  IssuedIo file(loop->node());
  settle();
  BlockStatObserver observer;
  observer.start(identify(loop->node()), 0);
  file.read(137, 4096);
  file.write(41, 8192);
  file.discard(32 << 20, 1 << 20);
  settle();
  const auto sample = observer.sample(kSecond_ns);
  const std::string source = "device:" + loop->name();

  const auto& read = row_of(sample, source, "read");
  CHECK(read.count == 137);
  CHECK(read.bytes == 137u * 4096);
  CHECK(read.start_ns == 0);
  CHECK(read.end_ns == kSecond_ns);
  CHECK(read.time_sum_ns >= 0);
  CHECK(read.latencies.empty());
  const auto& write = row_of(sample, source, "write");
  CHECK(write.count == 41);
  CHECK(write.bytes == 41u * 8192);
  const auto& discard = row_of(sample, source, "discard");
  CHECK(discard.bytes == 1u << 20);
  CHECK(sample.warnings.empty());
}

TEST_CASE("flushes are counted, and known to be counted among the writes as well") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  IssuedIo file(loop->node());
  settle();
  BlockStatObserver observer;
  observer.start(identify(loop->node()), 0);
  file.flush(7);
  settle();
  const auto sample = observer.sample(1);
  const auto& flush = row_of(sample, "device:" + loop->name(), "flush");
  CHECK(flush.count == 7);
  CHECK(flush.bytes == 0);
  const auto& write = row_of(sample, "device:" + loop->name(), "write");
  CHECK(write.count == 7);  // as block_stat_observer.h says
  CHECK(write.bytes == 0);
}

TEST_CASE("an interval without I/O is a row of zeros, and none is counted twice") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  IssuedIo file(loop->node());
  settle();
  BlockStatObserver observer;
  observer.start(identify(loop->node()), 0);
  file.read(3, 4096);
  settle();
  CHECK(row_of(observer.sample(1), "device:" + loop->name(), "read").count == 3);
  const auto idle = observer.sample(2);
  for (const char* operation : {"read", "write", "flush"}) {
    CHECK(row_of(idle, "device:" + loop->name(), operation).count == 0);
  }
  CHECK(find_row(idle, "device:" + loop->name(), "discard") == nullptr);
}

TEST_CASE("sectors of a 4Kn device are counted in bytes, not in its sectors") {
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.sector_bytes = 4096});
  if (!loop) return;
  IssuedIo file(loop->node());
  settle();
  BlockStatObserver observer;
  observer.start(identify(loop->node()), 0);
  file.write(5, 4096);
  settle();
  CHECK(row_of(observer.sample(1), "device:" + loop->name(), "write").bytes == 5u * 4096);
}

TEST_CASE("a partition and its disk are both watched, flushes on the disk only") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  loop->add_partition(1, 1 << 20, 32 << 20);
  IssuedIo file(loop->node() + "p1");
  settle();
  BlockStatObserver observer;
  observer.start(identify(loop->node() + "p1"), 0);
  file.write(9, 4096);
  file.flush(2);
  settle();
  const auto sample = observer.sample(1);
  CHECK(row_of(sample, "device:" + loop->name() + "p1", "write").bytes == 9u * 4096);
  CHECK(row_of(sample, "device:" + loop->name(), "write").bytes == 9u * 4096);
  CHECK(find_row(sample, "device:" + loop->name() + "p1", "flush") == nullptr);
  CHECK(row_of(sample, "device:" + loop->name(), "flush").count == 2);
}

TEST_CASE("the mean latency of a device of known delay is found", "[slow]") {
  auto device = lab::make<lab::NbdkitDevice>(lab::NbdkitOptions{
      .filters = {"delay"}, .parameters = {"delay-read=5ms", "delay-write=10ms"}});
  if (!device) return;
  IssuedIo file(device->node());
  settle();
  BlockStatObserver observer;
  observer.start(identify(device->node()), 0);
  file.read(20, 4096);
  file.write(10, 4096);
  settle();
  const auto sample = observer.sample(1);
  const auto mean_ms = [&](const char* operation) {
    const auto& row = row_of(sample, "device:" + device->name(), operation);
    return row.time_sum_ns / 1e6 / static_cast<double>(row.count);
  };
  CHECK(mean_ms("read") >= 5.0);
  CHECK(mean_ms("read") < 7.5);
  CHECK(mean_ms("write") >= 10.0);
  CHECK(mean_ms("write") < 13.0);
}

TEST_CASE("a device that vanishes is one warning, and then absent") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  BlockStatObserver observer;
  observer.start(identify(loop->node()), 0);
  CHECK_FALSE(observer.sample(1).rows.empty());
  loop->detach();
  const auto sample = observer.sample(2);
  CHECK(warns(sample, "device-vanished"));
  CHECK(sample.rows.empty());
  const auto later = observer.sample(3);
  CHECK(later.warnings.empty());
  CHECK(later.rows.empty());
}

TEST_CASE("a device attached anew under the same name is not the one watched") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const std::string name = loop->name();
  BlockStatObserver observer;
  observer.start(identify(loop->node()), 0);
  loop.reset();
  auto other = lab::make<lab::LoopDevice>();
  if (!other || other->name() != name) return;  // another test run took the name meanwhile
  CHECK(warns(observer.sample(1), "device-vanished"));
}

TEST_CASE("statistics that are off are a warning, and no false zeros") {
  auto zram = lab::make<lab::ZramDevice>();
  if (!zram) return;
  const std::string iostats = "/sys/block/" + zram->name() + "/queue/iostats";
  std::ofstream(iostats) << 0;
  BlockStatObserver observer;
  observer.start(identify(zram->node()), 0);
  const auto off = observer.sample(1);
  CHECK(warns(off, "iostats-off"));
  CHECK(off.rows.empty());

  std::ofstream(iostats) << 1;
  observer.start(identify(zram->node()), 1);
  IssuedIo(zram->node()).write(11, 4096);
  settle();
  const auto on = observer.sample(2);
  CHECK(on.warnings.empty());
  CHECK(row_of(on, "device:" + zram->name(), "write").count == 11);
  // A bio-based device: the kernel counts no flushes, so there is no row to say "none".
  CHECK(find_row(on, "device:" + zram->name(), "flush") == nullptr);
  CHECK(observer.describe()["devices"][0]["flushes"] == false);
}

TEST_CASE("observers are made by name") {
  CHECK(make_observer("stat") != nullptr);
  CHECK_THROWS_AS(make_observer("crystal ball"), UsageError);
}
