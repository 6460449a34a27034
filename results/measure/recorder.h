// From the thread that does operations to the thread that writes intervals, without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "results/measure/histogram.h"

namespace plimsoll {

// The three instants of one operation. Response time = finished - intended (what a user waits);
// service time = finished - started (what the device or database took). For a closed loop the
// operation is intended when it is started.
struct OpTiming {
  std::int64_t intended_ns;
  std::int64_t started_ns;
  std::int64_t finished_ns;
  std::int64_t response_ns() const noexcept { return finished_ns - intended_ns; }
  std::int64_t service_ns() const noexcept { return finished_ns - started_ns; }
  std::int64_t lateness_ns() const noexcept { return started_ns - intended_ns; }
};

// Everything one operation (or transaction type) did in a span of time. Aligned so that two
// threads' totals never share a cache line.
struct alignas(64) OpTotals {
  std::uint64_t bytes = 0;
  std::uint64_t errors = 0;                     // operations that failed; not in the histograms
  std::map<int, std::uint64_t> errors_by_code;  // errno for I/O, error class for databases
  Histogram response;
  Histogram service;

  std::uint64_t count() const noexcept { return service.count(); }  // that succeeded
  void merge(const OpTotals& other);
  void reset();
};

// One writer thread, one reader thread. The writer pays two plain stores an operation (or a batch);
// the reader swaps the two buffers and waits until the writer has left the old one, which takes at
// most one batch of the writer, never one I/O.
//
// How: the writer makes its epoch odd, then reads which buffer is active; the reader changes the
// active buffer, then reads the epoch. One of the two must see the other. The fence this takes
// between the writer's store and load is made by the reader alone, with membarrier(2), where the
// kernel has it; elsewhere the writer's store is a locked exchange.
class alignas(64) Recorder {
 public:
  enum class Fence { kBest, kWriter };  // kWriter: as if the kernel had no membarrier
  explicit Recorder(Fence fence = Fence::kBest);

  // Writer. Bracket many records of one moment to pay the hand-off once. Do not wait for anything
  // inside: the reader waits for the end of the batch (see take).
  class Batch {
   public:
    explicit Batch(Recorder& recorder) noexcept : recorder_(recorder), active_(recorder.enter()) {}
    ~Batch() { recorder_.leave(); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    void add(const OpTiming& timing, std::uint64_t bytes) noexcept {
      active_.response.record(timing.response_ns());
      active_.service.record(timing.service_ns());
      active_.bytes += bytes;
    }
    void add_error(int code) noexcept;

   private:
    Recorder& recorder_;
    OpTotals& active_;
  };
  void add(const OpTiming& timing, std::uint64_t bytes) noexcept {
    Batch(*this).add(timing, bytes);
  }
  void add_error(int code) noexcept { Batch(*this).add_error(code); }

  // Reader. Adds all that was recorded since the last take to `into`; nothing is lost or counted
  // twice. Safe after the writer thread has ended. A writer that does not leave its batch within
  // 100 ms (a thread held by a debugger or a stopped host) can't hang the reader: what it has
  // recorded comes with a later take.
  void take(OpTotals& into);

 private:
  OpTotals& enter() noexcept {
    const std::uint64_t odd = writer_epoch_.load(std::memory_order_relaxed) + 1;
    if (writer_fences_) {
      writer_epoch_.exchange(odd, std::memory_order_seq_cst);
      return *active_.load(std::memory_order_seq_cst);
    }
    writer_epoch_.store(odd, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler keeps the order too
    return *active_.load(std::memory_order_acquire);
  }
  void leave() noexcept {
    const std::uint64_t odd = writer_epoch_.load(std::memory_order_relaxed);
    writer_epoch_.store(odd + 1, std::memory_order_release);
  }
  void retire_active();
  bool writer_has_left() const;
  bool drain(OpTotals& into);

  std::unique_ptr<OpTotals> buffers_[2];
  std::atomic<OpTotals*> active_;
  bool writer_fences_;
  OpTotals* retired_ = nullptr;      // reader's: swapped out and not yet taken
  std::uint64_t retired_epoch_ = 0;  // reader's: the writer's epoch after the swap
  alignas(64) std::atomic<std::uint64_t> writer_epoch_{0};  // odd while the writer is in a batch
};

}  // namespace plimsoll
