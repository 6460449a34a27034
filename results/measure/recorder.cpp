#include "results/measure/recorder.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace plimsoll {
namespace {

int membarrier(int command) {
  return static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
}

bool has_membarrier() {
  static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return registered;
}

}  // namespace

void OpTotals::merge(const OpTotals& other) {
  bytes += other.bytes;
  errors += other.errors;
  for (const auto& [code, times] : other.errors_by_code) errors_by_code[code] += times;
  response.merge(other.response);
  service.merge(other.service);
}

void OpTotals::reset() {
  bytes = 0;
  errors = 0;
  errors_by_code.clear();
  response.reset();
  service.reset();
}

Recorder::Recorder(Fence fence)
    : buffers_{std::make_unique<OpTotals>(), std::make_unique<OpTotals>()},
      active_(buffers_[0].get()),
      writer_fences_(fence == Fence::kWriter || !has_membarrier()) {}

void Recorder::Batch::add_error(int code) noexcept {
  ++active_.errors;
  ++active_.errors_by_code[code];
}

void Recorder::retire_active() {
  retired_ = active_.load(std::memory_order_relaxed);
  OpTotals* const other = buffers_[retired_ == buffers_[0].get() ? 1 : 0].get();
  active_.exchange(other, std::memory_order_seq_cst);
  if (!writer_fences_) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  retired_epoch_ = writer_epoch_.load(std::memory_order_seq_cst);
}

// Every batch that began before the swap is over: there was none, or the epoch has moved on.
bool Recorder::writer_has_left() const {
  return retired_epoch_ % 2 == 0 || writer_epoch_.load(std::memory_order_acquire) != retired_epoch_;
}

bool Recorder::drain(OpTotals& into) {
  using namespace std::chrono_literals;
  if (retired_ == nullptr) retire_active();
  const auto give_up = std::chrono::steady_clock::now() + 100ms;
  for (int tries = 0; !writer_has_left(); ++tries) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    if (tries < 100) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(50us);
    }
  }
  into.merge(*retired_);
  retired_->reset();
  retired_ = nullptr;
  return true;
}

void Recorder::take(OpTotals& into) {
  const bool left_behind = retired_ != nullptr;
  if (drain(into) && left_behind) drain(into);
}

}  // namespace plimsoll
