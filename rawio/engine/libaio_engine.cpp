#include <fmt/format.h>
#include <libaio.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "rawio/engine/completion_queue.h"
#include "rawio/engine/deadline.h"
#include "rawio/engine/engines.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

// The head of the completion ring that the kernel maps into the process at the context's address
// (fs/aio.c): completions can be taken without a system call while its magic says it is this.
struct AioRing {
  static constexpr std::uint32_t kMagic = 0xa10a10a1;
  std::uint32_t id;
  std::uint32_t nr;
  std::uint32_t head;
  std::uint32_t tail;
  std::uint32_t magic;
  std::uint32_t compat_features;
  std::uint32_t incompat_features;
  std::uint32_t header_length;
  io_event events[];
};

class LibaioEngine final : public IoEngine {
 public:
  ~LibaioEngine() override;
  void open(const EngineSetup& setup) override;
  std::uint32_t submit(std::span<const IoRequest> requests) noexcept override;
  std::uint32_t reap(std::uint32_t minimum, std::span<IoCompletion> completions,
                     std::int64_t timeout_ns) noexcept override;
  EngineLimits limits() const override;

 private:
  static constexpr std::uint32_t kMaxDepth = 65536;

  void prepare(const IoRequest& request) noexcept;
  std::uint32_t send(std::uint32_t count) noexcept;
  std::uint32_t take_mapped(std::span<IoCompletion> completions) noexcept;
  std::uint32_t take_by_call(std::uint32_t minimum, std::span<IoCompletion> completions,
                             const Deadline& deadline) noexcept;

  io_context_t context_ = nullptr;
  AioRing* ring_ = nullptr;  // null: not readable, completions come by system call
  std::vector<int> files_;
  std::vector<iocb> blocks_;  // one a slot
  std::vector<iocb*> batch_;
  std::vector<io_event> events_;
  CompletionQueue done_;  // trims and refusals
  std::uint32_t in_kernel_ = 0;
};

LibaioEngine::~LibaioEngine() {
  if (context_ == nullptr) return;
  IoCompletion dropped[16];
  while (in_kernel_ > 0) reap(1, dropped, -1);
  ::io_destroy(context_);
}

void LibaioEngine::open(const EngineSetup& setup) {
  check_depth("libaio", setup.depth, kMaxDepth);
  const int error = ::io_setup(static_cast<int>(setup.depth), &context_);
  if (error != 0) {
    throw RefusedError(fmt::format(
        "Linux AIO gives no context of depth {} ({}): raise fs.aio-max-nr or use --engine psync",
        setup.depth, std::strerror(-error)));
  }
  auto* ring = reinterpret_cast<AioRing*>(context_);
  if (ring->magic == AioRing::kMagic && ring->incompat_features == 0) ring_ = ring;
  files_ = setup.files;
  blocks_.resize(setup.depth);
  batch_.resize(setup.depth);
  events_.resize(setup.depth);
  done_ = CompletionQueue(setup.depth);
}

void LibaioEngine::prepare(const IoRequest& request) noexcept {
  iocb& block = blocks_[request.slot];
  const int file = files_[request.file];
  const auto offset = static_cast<long long>(request.offset);
  switch (request.operation) {
    case IoOperation::kRead:
      ::io_prep_pread(&block, file, request.buffer, request.length, offset);
      break;
    case IoOperation::kWrite:
      ::io_prep_pwrite(&block, file, request.buffer, request.length, offset);
      if (request.durable) block.aio_rw_flags = RWF_DSYNC;
      break;
    case IoOperation::kFlush:
      ::io_prep_fsync(&block, file);
      break;
    default:
      ::io_prep_fdsync(&block, file);
  }
  block.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(request.slot));
}

// Sends batch_[0..count); returns how many the kernel or done_ has now.
std::uint32_t LibaioEngine::send(std::uint32_t count) noexcept {
  std::uint32_t sent = 0;
  while (sent < count) {
    const int result = ::io_submit(context_, static_cast<long>(count - sent), &batch_[sent]);
    if (result > 0) {
      sent += static_cast<std::uint32_t>(result);
      in_kernel_ += static_cast<std::uint32_t>(result);
    } else if (result == -EINTR) {
      continue;
    } else if (result == 0 || (result == -EAGAIN && in_kernel_ > 0)) {
      break;
    } else {
      const auto slot = reinterpret_cast<std::uintptr_t>(batch_[sent++]->data);
      done_.push({static_cast<std::uint32_t>(slot), result});
    }
  }
  return sent;
}

std::uint32_t LibaioEngine::submit(std::span<const IoRequest> requests) noexcept {
  const std::uint32_t room = done_.free() - std::min(done_.free(), in_kernel_);
  const auto count = std::min<std::uint32_t>(room, static_cast<std::uint32_t>(requests.size()));
  std::uint32_t handed = 0;
  while (handed < count) {
    std::uint32_t run = 0;
    while (handed + run < count && requests[handed + run].operation != IoOperation::kTrim) {
      prepare(requests[handed + run]);
      batch_[run] = &blocks_[requests[handed + run].slot];
      ++run;
    }
    if (run > 0) {
      const std::uint32_t sent = send(run);
      handed += sent;
      if (sent < run) break;
    } else {
      const auto& trim = requests[handed++];
      done_.push({trim.slot, run_synchronously(files_[trim.file], trim)});
    }
  }
  return handed;
}

std::uint32_t LibaioEngine::take_mapped(std::span<IoCompletion> completions) noexcept {
  if (ring_ == nullptr) return 0;
  // The kernel writes an event before it moves the tail; it reads the head to know what is free.
  const std::uint32_t tail = std::atomic_ref(ring_->tail).load(std::memory_order_acquire);
  std::uint32_t head = ring_->head;
  std::uint32_t count = 0;
  while (head != tail && count < completions.size()) {
    const io_event& event = ring_->events[head];
    completions[count++] = {
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event.data)),
        static_cast<std::int64_t>(event.res)};
    if (++head == ring_->nr) head = 0;
  }
  if (count > 0) std::atomic_ref(ring_->head).store(head, std::memory_order_release);
  return count;
}

std::uint32_t LibaioEngine::take_by_call(std::uint32_t minimum, std::span<IoCompletion> completions,
                                         const Deadline& deadline) noexcept {
  timespec left{};
  if (!deadline.unlimited()) left = deadline.left();
  const auto most = std::min<std::size_t>(completions.size(), events_.size());
  const int result = ::io_getevents(context_, std::min<long>(minimum, static_cast<long>(most)),
                                    static_cast<long>(most), events_.data(),
                                    deadline.unlimited() ? nullptr : &left);
  if (result < 0) return 0;
  for (int i = 0; i < result; ++i) {
    completions[i] = {static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(events_[i].data)),
                      static_cast<std::int64_t>(events_[i].res)};
  }
  return static_cast<std::uint32_t>(result);
}

std::uint32_t LibaioEngine::reap(std::uint32_t minimum, std::span<IoCompletion> completions,
                                 std::int64_t timeout_ns) noexcept {
  std::uint32_t count = done_.pop(completions);
  const std::uint32_t mapped = take_mapped(completions.subspan(count));
  count += mapped;
  in_kernel_ -= mapped;
  minimum = std::min<std::uint32_t>(minimum, static_cast<std::uint32_t>(completions.size()));
  minimum = std::min(minimum, count + in_kernel_);
  if (count >= minimum && (ring_ != nullptr || in_kernel_ == 0)) return count;
  const Deadline deadline(timeout_ns);
  while (count < completions.size()) {
    const auto rest = completions.subspan(count);
    const std::uint32_t wanted = minimum - std::min(minimum, count);
    const std::uint32_t taken = take_by_call(wanted, rest, deadline);
    count += taken;
    in_kernel_ -= taken;
    const timespec left = deadline.unlimited() ? timespec{1, 0} : deadline.left();
    if (count >= minimum || (left.tv_sec == 0 && left.tv_nsec == 0)) break;
  }
  return count;
}

EngineLimits LibaioEngine::limits() const {
  EngineLimits limits{kMaxDepth, true, {}};
  if (context_ != nullptr && ring_ == nullptr) {
    limits.shortfalls.emplace_back("completion ring not readable: a system call for each reap");
  }
  return limits;
}

}  // namespace

std::unique_ptr<IoEngine> make_libaio_engine() {
  return std::make_unique<LibaioEngine>();
}

}  // namespace plimsoll
