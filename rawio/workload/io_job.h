// One thread of a stream: the measured loop.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rawio/engine/io_engine.h"
#include "rawio/workload/buffer_content.h"
#include "rawio/workload/io_buffers.h"
#include "rawio/workload/io_workload.h"
#include "rawio/workload/request_source.h"
#include "rawio/workload/written_log.h"
#include "results/measure/arrivals.h"
#include "results/measure/clock.h"
#include "results/measure/interval_series.h"
#include "results/measure/recorder.h"

namespace plimsoll {

// The first request of a job that failed.
struct IoFailure {
  int error_code = 0;  // errno; ENODATA when fewer bytes moved than asked
  IoOperation operation = IoOperation::kRead;
  std::uint32_t target = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

struct JobSchedule {
  std::int64_t start_ns;          // Clock
  std::int64_t measured_from_ns;  // lateness counts from here
  std::int64_t end_ns;            // nothing is started from here on
  std::uint64_t budget_bytes;     // nothing is started when so many were asked
};

// What a job alone knows at its end.
struct JobOutcome {
  double cpu_user_s = 0;  // of the thread, warm-up included
  double cpu_system_s = 0;
  Histogram lateness;         // started - intended, open loop, measured part
  std::uint64_t backlog = 0;  // due before the end and never started, open loop
  std::optional<IoFailure> failure;
  std::vector<std::string> shortfalls;
};

// Where the clock is read: `started` just before each submit call and `finished` just after each
// reap returns, once for all requests of the call. Service time therefore holds the submit call
// itself and, of completions reaped together, the wait for the reap: it is never too short, and too
// long by at most one pass of the loop (the submit call of a batch plus about 100 ns a request).
// A request that waits for a free slot or behind a flush has that in its response time only.
class IoJob {
 public:
  // An open loop is shifted against its sisters' by its seat. Workload and stream must outlive it.
  IoJob(const IoWorkload& workload, const IoStream& stream, const Piece& piece, const JobSeat& seat,
        std::uint64_t seed);

  // On the control thread, before run.
  void watch(IntervalSeries& series);
  // On the job's thread: opens the engine, fills the buffers. `files` holds each target's, then
  // each target's opened with O_DSYNC (or less, where no stream asks for it). Throws as
  // IoEngine::open.
  void open(const std::vector<int>& files);
  // On the job's thread, to the end: nothing in flight when it returns. With OnError::kStop a
  // failure sets `stop` for all.
  void run(const JobSchedule& schedule, std::atomic<bool>& stop) noexcept;

  // By any thread while it runs: how many bytes were asked so far.
  std::uint64_t asked_bytes() const noexcept {
    return asked_bytes_.load(std::memory_order_relaxed);
  }
  const JobOutcome& outcome() const { return outcome_; }
  const IoStream& stream() const { return stream_; }
  const SpanMap& touched() const { return source_.touched(); }           // once it has ended
  const WrittenLog* written() const { return log_ ? &*log_ : nullptr; }  // of a stream to verify

 private:
  struct Slot {
    std::int64_t intended_ns;  // negative: when it starts
    std::int64_t started_ns;
    std::uint64_t offset;
    std::uint32_t length;
    IoOperation operation;
  };
  static constexpr std::size_t kRecorders = 4;  // read, write, flush, trim

  Arrivals make_arrivals(std::int64_t start_ns) const;
  bool wants_more(std::int64_t now_ns) const noexcept;
  void fill(std::int64_t now_ns) noexcept;
  void take_flush_turn() noexcept;
  bool draw(IoRequest& request) noexcept;
  void note_asked(const IoRequest& request) noexcept;
  std::span<const IoRequest> next_call(std::size_t handed) const noexcept;
  std::int64_t think(std::int64_t now_ns) noexcept;
  void push(IoRequest request, std::int64_t intended_ns) noexcept;
  void submit() noexcept;
  void mark_started(std::uint32_t slot, std::int64_t started_ns) noexcept;
  std::int64_t collect(std::int64_t now_ns) noexcept;
  std::int64_t reap(std::uint32_t minimum, std::int64_t timeout_ns) noexcept;
  void record(std::span<const IoCompletion> done, std::int64_t now_ns) noexcept;
  void finish(const IoCompletion& done, std::int64_t now_ns, Recorder::Batch& batch) noexcept;
  void fail(const Slot& slot, int code) noexcept;
  void drain() noexcept;
  void count_backlog() noexcept;

  const IoWorkload& workload_;
  const IoStream& stream_;
  double phase_;
  std::uint64_t seed_;
  BufferContent content_;
  std::optional<WrittenLog> log_;
  std::optional<IoRequest> held_;  // drawn, and to wait for one under way to the same place
  std::uint32_t file_ = 0;
  std::vector<int> cpus_;
  SystemClock& clock_ = SystemClock::instance();
  RequestSource source_;
  Arrivals arrivals_ = Arrivals::closed();
  JobSchedule schedule_{};
  std::atomic<bool>* stop_ = nullptr;

  std::unique_ptr<IoBuffers> buffers_;
  std::unique_ptr<IoEngine> engine_;
  std::array<std::unique_ptr<Recorder>, kRecorders> recorders_;
  Recorder* only_ = nullptr;  // the one recorder of a stream that does one thing

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<IoRequest> batch_;  // made, not yet taken by the engine
  std::vector<IoCompletion> done_;
  std::uint32_t submit_limit_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t unflushed_ = 0;  // writes asked since the last flush
  bool flush_due_ = false;
  std::uint32_t unthought_ = 0;      // requests asked since the last think time
  std::int64_t think_until_ns_ = 0;  // while it thinks
  std::uint64_t asked_ = 0;
  std::atomic<std::uint64_t> asked_bytes_{0};
  JobOutcome outcome_;
};

}  // namespace plimsoll
