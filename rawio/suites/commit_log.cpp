#include "rawio/suites/commit_log.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace plimsoll {
namespace {

constexpr std::uint32_t kGroup_bytes = 1u << 20;

// errno of a write that moved less than asked is ENOSPC's: there is no other reason on a log.
int write_once(int file, const std::byte* data, std::uint32_t bytes, std::uint64_t offset,
               int flags) noexcept {
  const iovec part{const_cast<std::byte*>(data), bytes};
  ssize_t moved = 0;
  do {
    moved = ::pwritev2(file, &part, 1, static_cast<off_t>(offset), flags);
  } while (moved < 0 && errno == EINTR);
  if (moved == static_cast<ssize_t>(bytes)) return 0;
  return moved < 0 ? errno : ENOSPC;
}

}  // namespace

const std::vector<CommitMethodRow>& commit_methods() {
  static const std::vector<CommitMethodRow> rows = {{CommitMethod::kFsync, "fsync"},
                                                    {CommitMethod::kFdatasync, "fdatasync"},
                                                    {CommitMethod::kOpenDsync, "O_DSYNC"},
                                                    {CommitMethod::kWriteDsync, "RWF_DSYNC"}};
  return rows;
}

std::string_view commit_method_name(CommitMethod method) {
  const auto& rows = commit_methods();
  return std::find_if(rows.begin(), rows.end(),
                      [&](const CommitMethodRow& row) { return row.method == method; })
      ->name;
}

CommitLog::CommitLog(RawTarget& target, const Place& place, CommitMethod method, bool grouped)
    : fd_(method == CommitMethod::kOpenDsync ? target.durable_fd() : target.fd()),
      place_(place),
      method_(method),
      grouped_(grouped) {}

std::uint32_t CommitLog::buffer_bytes(const Place& place, bool grouped, std::uint32_t committers) {
  if (!grouped) return place.record_bytes;
  const std::uint32_t most = std::max<std::uint32_t>(1, kGroup_bytes / place.record_bytes);
  return std::min(committers, most) * place.record_bytes;
}

int CommitLog::commit(Committer& committer) noexcept {
  const std::int64_t started_ns = clock_.now_ns();
  const int error = grouped_ ? commit_grouped(committer) : commit_alone(committer);
  if (error != 0) {
    committer.commits_.add_error(error);
  } else {
    committer.commits_.add({started_ns, started_ns, clock_.now_ns()}, place_.record_bytes);
  }
  return error;
}

int CommitLog::commit_alone(Committer& committer) noexcept {
  const std::uint64_t records = place_.span_bytes / place_.record_bytes;
  const std::uint64_t record = next_.fetch_add(1, std::memory_order_relaxed) % records;
  return append(committer, place_.offset_bytes + record * place_.record_bytes, place_.record_bytes);
}

int CommitLog::commit_grouped(Committer& committer) noexcept {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = ++queued_;
  while (durable_ < ticket && error_ == 0) {
    if (leading_) {
      done_.wait(lock);
    } else if (const int error = lead(committer, lock); error != 0) {
      return error;
    }
  }
  return durable_ >= ticket ? 0 : error_;
}

// Writes and flushes what is queued, as far as the buffer holds, without the lock meanwhile.
int CommitLog::lead(Committer& committer, std::unique_lock<std::mutex>& lock) noexcept {
  const std::uint64_t room = committer.buffer_.all().size() / place_.record_bytes;
  const std::uint64_t count = std::min(queued_ - taken_, room);
  const auto bytes = static_cast<std::uint32_t>(count * place_.record_bytes);
  if (position_ + bytes > place_.span_bytes) position_ = 0;
  const std::uint64_t offset = place_.offset_bytes + position_;
  position_ += bytes;
  taken_ += count;
  leading_ = true;
  lock.unlock();
  const int error = append(committer, offset, bytes);
  lock.lock();
  leading_ = false;
  if (error == 0) durable_ += count;
  if (error_ == 0) error_ = error;
  done_.notify_all();
  return error;
}

int CommitLog::append(Committer& committer, std::uint64_t offset, std::uint32_t bytes) noexcept {
  std::byte* data = committer.buffer_.slot(0);
  committer.content_.refresh(data, bytes, committer.random_);
  const std::int64_t started_ns = clock_.now_ns();
  const int flags = method_ == CommitMethod::kWriteDsync ? RWF_DSYNC : 0;
  if (const int error = write_once(fd_, data, bytes, offset, flags); error != 0) {
    committer.writes_.add_error(error);
    return fail(error, offset);
  }
  committer.writes_.add({started_ns, started_ns, clock_.now_ns()}, bytes);
  return flush(committer, offset);
}

int CommitLog::flush(Committer& committer, std::uint64_t offset) noexcept {
  if (method_ != CommitMethod::kFsync && method_ != CommitMethod::kFdatasync) return 0;
  const std::int64_t started_ns = clock_.now_ns();
  const int result = method_ == CommitMethod::kFsync ? ::fsync(fd_) : ::fdatasync(fd_);
  if (result != 0) {
    const int error = errno;
    committer.flushes_.add_error(error);
    return fail(error, offset);
  }
  committer.flushes_.add({started_ns, started_ns, clock_.now_ns()}, 0);
  return 0;
}

int CommitLog::fail(int code, std::uint64_t offset) noexcept {
  failed_offset_.store(offset);
  return code;
}

}  // namespace plimsoll
