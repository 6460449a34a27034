#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "rawio/engine/completion_queue.h"
#include "rawio/engine/engines.h"

namespace plimsoll {
namespace {

std::int64_t trim(int file, std::uint64_t offset, std::uint64_t length) noexcept {
  struct stat status {};
  if (::fstat(file, &status) != 0) return -1;
  if (S_ISBLK(status.st_mode)) {
    std::uint64_t range[2] = {offset, length};
    return ::ioctl(file, BLKDISCARD, range);
  }
  return ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(length));
}

std::int64_t write_durably(int file, const IoRequest& request) noexcept {
  const iovec data{request.buffer, request.length};
  return ::pwritev2(file, &data, 1, static_cast<off_t>(request.offset), RWF_DSYNC);
}

std::int64_t call(int file, const IoRequest& request) noexcept {
  const auto offset = static_cast<off_t>(request.offset);
  switch (request.operation) {
    case IoOperation::kRead:
      // Not by pread: among threads that is a point of cancellation, which costs.
      return ::syscall(SYS_pread64, file, request.buffer, std::size_t{request.length}, offset);
    case IoOperation::kWrite:
      if (request.durable) return write_durably(file, request);
      return ::syscall(SYS_pwrite64, file, request.buffer, std::size_t{request.length}, offset);
    case IoOperation::kFlush:
      return ::fsync(file);
    case IoOperation::kDataFlush:
      return ::fdatasync(file);
    case IoOperation::kTrim:
      return trim(file, request.offset, request.length) < 0 ? -1 : request.length;
  }
  errno = EINVAL;
  return -1;
}

class PsyncEngine final : public IoEngine {
 public:
  void open(const EngineSetup& setup) override {
    check_depth("psync", setup.depth, 1);
    files_ = setup.files;
    done_ = CompletionQueue(1);
  }

  std::uint32_t submit(std::span<const IoRequest> requests) noexcept override {
    if (requests.empty() || done_.free() == 0) return 0;
    const auto& request = requests.front();
    done_.push({request.slot, run_synchronously(files_[request.file], request)});
    return 1;
  }

  std::uint32_t reap(std::uint32_t, std::span<IoCompletion> completions,
                     std::int64_t) noexcept override {
    return done_.pop(completions);
  }

  EngineLimits limits() const override { return {1, false, {}}; }

 private:
  std::vector<int> files_;
  CompletionQueue done_;
};

}  // namespace

std::int64_t run_synchronously(int file, const IoRequest& request) noexcept {
  std::int64_t result = 0;
  do {
    result = call(file, request);
  } while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : result;
}

std::unique_ptr<IoEngine> make_psync_engine() {
  return std::make_unique<PsyncEngine>();
}

}  // namespace plimsoll
