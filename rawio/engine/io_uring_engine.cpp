#include <fmt/format.h>
#include <liburing.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "rawio/engine/completion_queue.h"
#include "rawio/engine/deadline.h"
#include "rawio/engine/engines.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

class IoUringEngine final : public IoEngine {
 public:
  ~IoUringEngine() override;
  void open(const EngineSetup& setup) override;
  std::uint32_t submit(std::span<const IoRequest> requests) noexcept override;
  std::uint32_t reap(std::uint32_t minimum, std::span<IoCompletion> completions,
                     std::int64_t timeout_ns) noexcept override;
  EngineLimits limits() const override { return {kMaxDepth, true, shortfalls_}; }

 private:
  static constexpr std::uint32_t kMaxDepth = 16384;  // one registered buffer a slot

  void make_ring(const EngineSetup& setup, bool polled);
  bool can_poll(const EngineSetup& setup);
  void register_resources(const EngineSetup& setup);
  void prepare(io_uring_sqe* entry, const IoRequest& request) noexcept;
  void prepare_transfer(io_uring_sqe* entry, const IoRequest& request) noexcept;
  void enter() noexcept;
  std::uint32_t take(std::span<IoCompletion> completions) noexcept;
  void wait(std::uint32_t minimum, const Deadline& deadline) noexcept;

  io_uring ring_{};
  bool open_ = false;
  bool buffers_registered_ = false;
  bool files_registered_ = false;
  bool unsent_ = false;  // in the submission ring, the kernel not told
  std::uint32_t in_kernel_ = 0;
  std::vector<int> files_;
  std::vector<std::string> shortfalls_;
  CompletionQueue done_;  // trims
};

constexpr std::size_t kProbe_bytes = 4096;

// Best first; a kernel that doesn't know a flag says EINVAL.
constexpr unsigned kRingFlags[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0};

IoUringEngine::~IoUringEngine() {
  if (!open_) return;
  IoCompletion dropped[16];
  while (in_kernel_ > 0) reap(1, dropped, -1);
  ::io_uring_queue_exit(&ring_);
}

void IoUringEngine::open(const EngineSetup& setup) {
  check_depth("io_uring", setup.depth, kMaxDepth);
  files_ = setup.files;
  done_ = CompletionQueue(setup.depth);
  make_ring(setup, setup.polled);
  open_ = true;
  if (setup.polled && !can_poll(setup)) {
    shortfalls_.emplace_back(
        "no polling: the drive or its driver has no queues for it (for NVMe: "
        "load the module with poll_queues=N)");
    ::io_uring_queue_exit(&ring_);
    open_ = false;
    make_ring(setup, false);
    open_ = true;
  }
  if (setup.registered) register_resources(setup);
}

// The kernel tells only when asked to: by one read, which is no part of any measurement.
bool IoUringEngine::can_poll(const EngineSetup& setup) {
  io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
  const std::size_t part = setup.buffers.size() / setup.depth;
  const auto length = static_cast<unsigned>(std::min<std::size_t>(part, kProbe_bytes));
  ::io_uring_prep_read(entry, files_.front(), setup.buffers.data(), length, 0);
  ::io_uring_submit(&ring_);
  io_uring_cqe* answer = nullptr;
  if (::io_uring_wait_cqe(&ring_, &answer) != 0) return false;
  const bool polls = answer->res >= 0;
  ::io_uring_cqe_seen(&ring_, answer);
  return polls;
}

void IoUringEngine::make_ring(const EngineSetup& setup, bool polled) {
  const unsigned asked =
      (polled ? IORING_SETUP_IOPOLL : 0u) | (setup.kernel_thread ? IORING_SETUP_SQPOLL : 0u);
  int error = -EINVAL;
  for (const unsigned flags : kRingFlags) {
    if (setup.kernel_thread && flags != 0) continue;  // the kernel's thread is the issuer there
    error = ::io_uring_queue_init(setup.depth, &ring_, asked | flags);
    if (error != -EINVAL) break;
  }
  if (error == 0) return;
  const char* mend = error == -ENOSYS || error == -EPERM
                         ? "see sysctl kernel.io_uring_disabled, or use --engine libaio"
                         : "lower --depth or raise the locked-memory limit (ulimit -l)";
  throw RefusedError(fmt::format("io_uring gives no ring of depth {} ({}): {}", setup.depth,
                                 std::strerror(-error), mend));
}

void IoUringEngine::register_resources(const EngineSetup& setup) {
  ::io_uring_register_ring_fd(&ring_);
  int error =
      ::io_uring_register_files(&ring_, files_.data(), static_cast<unsigned>(files_.size()));
  files_registered_ = error == 0;
  if (error != 0) {
    shortfalls_.push_back(fmt::format("files not registered: {}", std::strerror(-error)));
  }
  if (setup.buffers.empty()) return;
  const std::size_t part = setup.buffers.size() / setup.depth;
  std::vector<iovec> parts(setup.depth);
  for (std::uint32_t slot = 0; slot < setup.depth; ++slot) {
    parts[slot] = {setup.buffers.data() + slot * part, part};
  }
  error = ::io_uring_register_buffers(&ring_, parts.data(), setup.depth);
  buffers_registered_ = error == 0;
  if (error == 0) return;
  shortfalls_.push_back(error == -ENOMEM
                            ? std::string("buffers not registered: over the locked-memory limit "
                                          "(ulimit -l)")
                            : fmt::format("buffers not registered: {}", std::strerror(-error)));
}

void IoUringEngine::prepare_transfer(io_uring_sqe* entry, const IoRequest& request) noexcept {
  const int file = files_registered_ ? static_cast<int>(request.file) : files_[request.file];
  const bool read = request.operation == IoOperation::kRead;
  if (buffers_registered_) {
    const auto index = static_cast<int>(request.slot);
    if (read) {
      ::io_uring_prep_read_fixed(entry, file, request.buffer, request.length, request.offset,
                                 index);
    } else {
      ::io_uring_prep_write_fixed(entry, file, request.buffer, request.length, request.offset,
                                  index);
    }
  } else if (read) {
    ::io_uring_prep_read(entry, file, request.buffer, request.length, request.offset);
  } else {
    ::io_uring_prep_write(entry, file, request.buffer, request.length, request.offset);
  }
}

void IoUringEngine::prepare(io_uring_sqe* entry, const IoRequest& request) noexcept {
  if (request.operation == IoOperation::kRead || request.operation == IoOperation::kWrite) {
    prepare_transfer(entry, request);
    if (request.durable) entry->rw_flags = RWF_DSYNC;
  } else {
    const int file = files_registered_ ? static_cast<int>(request.file) : files_[request.file];
    const bool data_only = request.operation == IoOperation::kDataFlush;
    ::io_uring_prep_fsync(entry, file, data_only ? IORING_FSYNC_DATASYNC : 0);
  }
  if (files_registered_) entry->flags |= IOSQE_FIXED_FILE;
  entry->user_data = request.slot;
}

// What the kernel doesn't take now stays in the submission ring for the next call.
void IoUringEngine::enter() noexcept {
  ::io_uring_submit_and_get_events(&ring_);
  unsent_ = false;
}

// The last batch goes to the kernel with the wait that follows, in one system call of two.
std::uint32_t IoUringEngine::submit(std::span<const IoRequest> requests) noexcept {
  if (unsent_) enter();
  const std::uint32_t room = done_.free() - std::min(done_.free(), in_kernel_);
  const auto count = std::min<std::uint32_t>(room, static_cast<std::uint32_t>(requests.size()));
  std::uint32_t handed = 0;
  for (; handed < count; ++handed) {
    const auto& request = requests[handed];
    if (request.operation == IoOperation::kTrim) {
      done_.push({request.slot, run_synchronously(files_[request.file], request)});
      continue;
    }
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    if (entry == nullptr) break;
    prepare(entry, request);
    ++in_kernel_;
    unsent_ = true;
  }
  return handed;
}

std::uint32_t IoUringEngine::take(std::span<IoCompletion> completions) noexcept {
  unsigned head = 0;
  std::uint32_t count = 0;
  io_uring_cqe* entry = nullptr;
  io_uring_for_each_cqe(&ring_, head, entry) {
    if (count == completions.size()) break;
    completions[count++] = {static_cast<std::uint32_t>(entry->user_data), entry->res};
  }
  ::io_uring_cq_advance(&ring_, count);
  in_kernel_ -= count;
  return count;
}

void IoUringEngine::wait(std::uint32_t minimum, const Deadline& deadline) noexcept {
  io_uring_cqe* first = nullptr;
  unsent_ = false;
  if (deadline.unlimited()) {
    ::io_uring_submit_and_wait(&ring_, minimum);
    return;
  }
  const timespec rest = deadline.left();
  __kernel_timespec left{rest.tv_sec, rest.tv_nsec};
  ::io_uring_submit_and_wait_timeout(&ring_, &first, minimum, &left, nullptr);
}

std::uint32_t IoUringEngine::reap(std::uint32_t minimum, std::span<IoCompletion> completions,
                                  std::int64_t timeout_ns) noexcept {
  std::uint32_t count = done_.pop(completions);
  // Whoever only looks, or has enough already, must not leave requests here.
  if (unsent_ && (minimum == 0 || count > 0)) enter();
  count += take(completions.subspan(count));
  minimum = std::min<std::uint32_t>(minimum, static_cast<std::uint32_t>(completions.size()));
  minimum = std::min(minimum, count + in_kernel_);
  if (unsent_ && count >= minimum) enter();
  if (count > 0 && count >= minimum) return count;
  if (count == 0 && minimum == 0) {
    if (in_kernel_ > 0) enter();  // deferred completions are posted only to who asks
    return take(completions);
  }
  const Deadline deadline(timeout_ns);
  while (count < minimum) {
    wait(minimum - count, deadline);
    count += take(completions.subspan(count));
    if (deadline.unlimited()) continue;
    const timespec left = deadline.left();
    if (left.tv_sec == 0 && left.tv_nsec == 0) break;
  }
  return count;
}

}  // namespace

std::unique_ptr<IoEngine> make_io_uring_engine() {
  return std::make_unique<IoUringEngine>();
}

}  // namespace plimsoll
