#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "results/base/error.h"
#include "results/measure/clock.h"
#include "results/record/record.h"
#include "tests/catch.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"
#include "tests/results/record_samples.h"

namespace {
std::atomic<int> flushes{0};
}

// In place of libc's, for SQLite too: what a run flushes is counted.
extern "C" int fsync(int fd) {
  ++flushes;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
extern "C" int fdatasync(int fd) {
  ++flushes;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace plimsoll {
namespace {


// A second whose histogram takes 8 KiB or more: 4,000 values over five decades.
IntervalSample wide_sample(int second) {
  IntervalSample sample{"read", second * kSecond_ns, (second + 1) * kSecond_ns, true, {}};
  std::mt19937_64 random(static_cast<std::uint64_t>(second));
  std::uniform_real_distribution<double> decades(4, 9);
  for (int i = 0; i < 4000; ++i) {
    const auto value_ns = static_cast<std::int64_t>(std::pow(10, decades(random)));
    sample.totals.response.record(value_ns);
    sample.totals.service.record(value_ns);
  }
  return sample;
}

// A file system of 3 MiB that ends with the test.
class SmallDisk {
 public:
  SmallDisk() {
    mounted_ = ::mount("tmpfs", temp_.path().c_str(), "tmpfs", 0, "size=3m") == 0;
    cause_ = mounted_ ? 0 : errno;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(temp_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool make_read_only() const {
    return ::mount(nullptr, temp_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  // Takes all the room there is with a file of that name.
  void fill_up(const std::string& name) const {
    std::ofstream file(path() / name, std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), 4096).flush()) {
    }
  }
  bool there() const { return mounted_; }
  std::string why() const { return std::string("mounting a tmpfs: ") + std::strerror(cause_); }
  std::filesystem::path path() const { return temp_.path(); }

 private:
  lab::TempDir temp_;
  bool mounted_ = false;
  int cause_ = 0;
};

// Writes until the disk is full; how many seconds were committed, and what the run was told.
struct Filled {
  int committed = 0;
  std::string told;
};

Filled fill(const std::filesystem::path& dir) {
  Filled filled;
  Record record = Record::create(dir, samples::spec());
  const Part part = record.begin_part("p", "raw", Json::object(), 0);
  try {
    for (int second = 0; second < 100'000; ++second) {
      record.add_interval(part, "raw", wide_sample(second));
      record.commit();
      ++filled.committed;
    }
  } catch (const BrokenError& error) {
    filled.told = error.what();
  }
  return filled;
}

TEST_CASE("record: a full disk ends the run with where and what to do, and keeps the rest") {
  const SmallDisk disk;
  if (!disk.there()) return lab::skip(disk.why());
  const auto dir = disk.path() / "run";
  const Filled filled = fill(dir);
  CHECK(filled.committed > 20);
  CHECK_THAT(filled.told, ContainsSubstring("no space left") && ContainsSubstring(dir.string()) &&
                              ContainsSubstring("--out"));
  const Record record = Record::open(dir);  // the disk is still full
  CHECK_FALSE(record.finished());
  CHECK(record.intervals(record.parts().at(0), "raw").size() ==
        static_cast<std::size_t>(filled.committed));
}

TEST_CASE("record: a disk without room for a record leaves no file behind") {
  const SmallDisk disk;
  if (!disk.there()) return lab::skip(disk.why());
  disk.fill_up("ballast");
  CHECK_THROWS_AS(Record::create(disk.path() / "run", samples::spec()), BrokenError);
  CHECK_FALSE(std::filesystem::exists(disk.path() / "run/record.db"));
  CHECK_FALSE(std::filesystem::exists(disk.path() / "run/record.db-wal"));
}

TEST_CASE("record: after a full disk the run goes on when there is room again") {
  const SmallDisk disk;
  if (!disk.there()) return lab::skip(disk.why());
  Record record = Record::create(disk.path() / "run", samples::spec());
  const Part part = record.begin_part("p", "raw", Json::object(), 0);
  disk.fill_up("ballast");
  int second = 0;
  const auto write_some = [&] {
    for (int i = 0; i < 20; ++i, ++second) {
      IntervalSample sample = wide_sample(second);
      sample.operation = "operation " + std::to_string(i % 3);
      record.add_interval(part, "raw", sample);
      record.commit();
    }
  };
  CHECK_THROWS_AS(write_some(), BrokenError);
  const std::size_t kept = record.intervals(part, "raw").size();
  std::filesystem::remove(disk.path() / "ballast");
  second = 1000;
  write_some();
  CHECK(record.intervals(part, "raw").size() == kept + 20);
}

TEST_CASE("record: nothing is flushed to the drive before the end of the run") {
  const lab::TempDir temp;
  const int before = flushes;
  Record record = Record::create(temp.path() / "run", samples::spec());
  const Part part = record.begin_part("p", "raw", Json::object(), 0);
  // Enough to fold the journal several times.
  for (int second = 0; second < 200; ++second) {
    record.add_interval(part, "raw", wide_sample(second));
    record.commit();
  }
  CHECK(flushes == before);
  record.finish(200 * kSecond_ns);
  CHECK(flushes > before);
}

TEST_CASE("record: a cut run's journal counts, also where no file can be made") {
  const SmallDisk disk;
  if (!disk.there()) return lab::skip(disk.why());
  {
    const samples::CutRun run(disk.path());
    CHECK(std::filesystem::file_size(disk.path() / "cut/record.db-wal") > 0);
  }
  samples::write(disk.path() / "finished", 2);
  REQUIRE(disk.make_read_only());
  CHECK(samples::seconds_in(disk.path() / "cut") == 5);
  CHECK_FALSE(std::filesystem::exists(disk.path() / "cut/record.db-shm"));
  CHECK(samples::seconds_in(disk.path() / "finished") == 2);
}

// Three operations of an open loop (two different histograms each) and ten series, each second, at
// 1,000 operations a second: an hour of it, as a day is 24 times as much.
void write_hour(Record& record, const Part& part) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latency_ns(std::log(5e6), 0.5);
  for (int second = 0; second < 3600; ++second) {
    const std::int64_t at_ns = second * kSecond_ns;
    for (const char* operation : {"read", "write", "flush"}) {
      IntervalSample sample{operation, at_ns, at_ns + kSecond_ns, true, {}};
      for (int i = 0; i < 333; ++i) {
        const auto value_ns = static_cast<std::int64_t>(latency_ns(random));
        sample.totals.service.record(value_ns);
        sample.totals.response.record(value_ns + 10'000);
      }
      record.add_interval(part, "oltp", sample);
    }
    for (int series = 0; series < 10; ++series) {
      record.add_point(part, "device:vda", "series " + std::to_string(series), at_ns,
                       latency_ns(random));
    }
    record.commit();
  }
}

double seconds_since(std::int64_t start_ns) {
  return static_cast<double>(SystemClock::instance().now_ns() - start_ns) / 1e9;
}

TEST_CASE("record: a day of seconds stays under 300 MB", "[slow]") {
  const lab::TempDir temp;
  Record record = Record::create(temp.path() / "run", samples::spec());
  const Part part = record.begin_part("p", "oltp", Json::object(), 0);
  auto start_ns = SystemClock::instance().now_ns();
  write_hour(record, part);
  std::printf("a second's rows take %.2f ms\n", seconds_since(start_ns) / 3.6);
  record.finish(3600 * kSecond_ns);
  const double day_mb =
      24e-6 * static_cast<double>(std::filesystem::file_size(temp.path() / "run/record.db"));
  std::printf("a day of 3 operations and 10 series takes %.0f MB\n", day_mb);
  CHECK(day_mb < 300);
  start_ns = SystemClock::instance().now_ns();
  const Record reader = Record::open(temp.path() / "run");
  std::printf("an hour is opened in %.2f s\n", seconds_since(start_ns));
  CHECK(reader.total(part, "oltp", "").count == 3600 * 999);
  std::printf("and merged in %.2f s\n", seconds_since(start_ns));
}

}  // namespace
}  // namespace plimsoll
