// I/O that a test issues itself, one call a request, timed as its caller sees it.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "rawio/device/bpf/block_probe.h"
#include "results/measure/clock.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"

namespace plimsoll::lab {

inline constexpr auto kRead = ProbeOperation::kRead;
inline constexpr auto kWrite = ProbeOperation::kWrite;
inline constexpr auto kFlush = ProbeOperation::kFlush;
inline constexpr auto kDiscard = ProbeOperation::kDiscard;

// Says why and returns false where the kernel or this user can't be probed.
inline bool probe_possible() {
  const auto obstacle = probe_obstacle();
  if (!obstacle.empty()) skip(obstacle);
  return obstacle.empty();
}

// The disk once udev, where it runs, has looked at it: its reads would be counted too.
inline ProbeDisk settled_disk(const std::string& name) {
  if (has_program("udevadm")) run_process({"udevadm", "settle", "--timeout=5"});
  return probe_disk(name);
}

// What the probe saw of `io`. A sandbox's kernel runs no program while a process of the sandbox's
// own runs, so that a completion that interrupts it isn't shown, and its request seems to be in
// flight: then it is done again.
template <typename Io>
ProbedDisk probed(const ProbeDisk& disk, Io&& io) {
  ProbedDisk seen;
  for (int tries = 0; tries < 10; ++tries) {
    BlockProbe probe({disk});
    io();
    seen = probe.read().at(0);
    if (seen.in_flight == 0 && seen.unseen == 0 && seen.unmatched == 0) break;
  }
  return seen;
}

// A device or file opened O_DIRECT, with one aligned buffer. One thread.
class TimedFile {
 public:
  explicit TimedFile(const std::string& path, int flags = O_RDWR)
      : fd_(open(path.c_str(), flags | O_DIRECT | O_CLOEXEC)),
        buffer_(std::aligned_alloc(4096, kBufferBytes), std::free) {
    if (fd_ < 0) throw std::runtime_error("can't open " + path);
  }
  ~TimedFile() { close(fd_); }
  TimedFile(const TimedFile&) = delete;
  TimedFile& operator=(const TimedFile&) = delete;

  bool read(std::size_t bytes, std::uint64_t offset) {
    return timed(reads_,
                 [&] { return pread(fd_, buffer_.get(), bytes, offset) == ssize_t(bytes); });
  }
  bool write(std::size_t bytes, std::uint64_t offset) {
    return timed(writes_,
                 [&] { return pwrite(fd_, buffer_.get(), bytes, offset) == ssize_t(bytes); });
  }
  bool flush() {
    return timed(flushes_, [&] { return fsync(fd_) == 0; });
  }
  bool discard(std::uint64_t offset, std::uint64_t bytes) {
    std::uint64_t range[] = {offset, bytes};
    return ioctl(fd_, BLKDISCARD, range) == 0;
  }
  // Of the calls that succeeded.
  const Histogram& reads() const { return reads_; }
  const Histogram& writes() const { return writes_; }
  const Histogram& flushes() const { return flushes_; }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;

  template <typename Call>
  static bool timed(Histogram& times, Call&& call) {
    const auto start_ns = SystemClock::instance().now_ns();
    const bool done = call();
    if (done) times.record(SystemClock::instance().now_ns() - start_ns);
    return done;
  }

  int fd_;
  std::unique_ptr<void, decltype(&std::free)> buffer_;
  Histogram reads_;
  Histogram writes_;
  Histogram flushes_;
};

// A setting of a disk's queue for as long as the object lives: the next loop device of that number
// would inherit it.
class QueueSetting {
 public:
  QueueSetting(const std::string& disk, const std::string& name, const std::string& value)
      : path_("/sys/block/" + disk + "/queue/" + name) {
    std::getline(std::ifstream(path_), before_);
    const auto chosen = before_.find('[');  // "none [mq-deadline]"
    if (chosen != std::string::npos) {
      before_ = before_.substr(chosen + 1, before_.find(']') - chosen - 1);
    }
    set(value);
  }
  ~QueueSetting() { std::ofstream(path_) << before_; }
  QueueSetting(const QueueSetting&) = delete;
  QueueSetting& operator=(const QueueSetting&) = delete;

 private:
  void set(const std::string& value) {
    INFO(path_ << " = " << value);
    REQUIRE((std::ofstream(path_) << value << std::flush));
  }
  std::string path_;
  std::string before_;
};

}  // namespace plimsoll::lab
