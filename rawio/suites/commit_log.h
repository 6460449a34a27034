// A log that many append to and wait for, as a database's committers do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "rawio/workload/buffer_content.h"
#include "rawio/workload/io_buffers.h"
#include "rawio/workload/target.h"
#include "results/measure/clock.h"
#include "results/measure/recorder.h"

namespace plimsoll {

// How a record gets onto the medium: two system calls, or a write that returns when it is there.
enum class CommitMethod { kFsync, kFdatasync, kOpenDsync, kWriteDsync };

struct CommitMethodRow {
  CommitMethod method;
  std::string_view name;  // "fsync", "fdatasync", "O_DSYNC", "RWF_DSYNC"
};
const std::vector<CommitMethodRow>& commit_methods();
std::string_view commit_method_name(CommitMethod method);

// One thread of many. What it does it records in its own recorders.
class Committer {
 public:
  Committer(std::uint32_t buffer_bytes, std::uint64_t seed)
      : random_(seed), buffer_(1, buffer_bytes, random_), content_({}, seed) {}

  Recorder& commits() { return commits_; }
  Recorder& writes() { return writes_; }
  Recorder& flushes() { return flushes_; }

 private:
  friend class CommitLog;
  Random random_;
  IoBuffers buffer_;
  BufferContent content_;
  Recorder commits_;
  Recorder writes_;
  Recorder flushes_;
};

// Records lie one after the other and go round. With grouping one committer writes and flushes what
// all have queued while the others wait for it; without, each writes and flushes its own.
// Thread-safe.
class CommitLog {
 public:
  struct Place {
    std::uint64_t offset_bytes;
    std::uint64_t span_bytes;
    std::uint32_t record_bytes;
  };
  CommitLog(RawTarget& target, const Place& place, CommitMethod method, bool grouped);

  // What a committer's buffer has to hold.
  static std::uint32_t buffer_bytes(const Place& place, bool grouped, std::uint32_t committers);

  // Returns when the committer's record is on the medium: 0 or the errno of what failed.
  int commit(Committer& committer) noexcept;

  // Of the first failure.
  std::uint64_t failed_offset() const noexcept { return failed_offset_.load(); }

 private:
  int commit_alone(Committer& committer) noexcept;
  int commit_grouped(Committer& committer) noexcept;
  int lead(Committer& committer, std::unique_lock<std::mutex>& lock) noexcept;
  int append(Committer& committer, std::uint64_t offset, std::uint32_t bytes) noexcept;
  int flush(Committer& committer, std::uint64_t offset) noexcept;
  int fail(int code, std::uint64_t offset) noexcept;

  const int fd_;
  const Place place_;
  const CommitMethod method_;
  const bool grouped_;
  SystemClock& clock_ = SystemClock::instance();
  std::atomic<std::uint64_t> next_{0};  // records, without grouping
  std::atomic<std::uint64_t> failed_offset_{0};

  std::mutex mutex_;  // of all below: grouping
  std::condition_variable done_;
  std::uint64_t queued_ = 0;  // records asked
  std::uint64_t taken_ = 0;   // records some leader has
  std::uint64_t durable_ = 0;
  std::uint64_t position_ = 0;
  bool leading_ = false;
  int error_ = 0;
};

}  // namespace plimsoll
