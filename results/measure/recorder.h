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

// Everything one operation (or transaction type) did in a span of time.
struct OpTotals {
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
// most one record() of the writer, never one I/O.
class Recorder {
 public:
  Recorder();

  // Writer. Bracket many records of one moment to pay the hand-off once.
  class Batch {
   public:
    explicit Batch(Recorder& recorder) noexcept;
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    void add(const OpTiming& timing, std::uint64_t bytes) noexcept;
    void add_error(int code) noexcept;

   private:
    Recorder& recorder_;
    OpTotals& active_;
  };
  void add(const OpTiming& timing, std::uint64_t bytes) noexcept { Batch(*this).add(timing, bytes); }
  void add_error(int code) noexcept { Batch(*this).add_error(code); }

  // Reader. Adds all that was recorded since the last take to `into`; nothing is lost or counted
  // twice. Safe after the writer thread has ended.
  void take(OpTotals& into);

 private:
  std::unique_ptr<OpTotals> buffers_[2];
  std::atomic<OpTotals*> active_;
  std::atomic<std::uint64_t> writer_epoch_{0};  // odd while the writer is inside a batch
};

}  // namespace plimsoll
