#include "rawio/workload/io_job.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "rawio/workload/cpus.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kAtStart = -1;
// An open loop that waits for its next due time looks at the stop flag this often.
constexpr std::int64_t kLook_ns = 100'000'000;

std::size_t recorder_of(IoOperation operation) {
  switch (operation) {
    case IoOperation::kRead:
      return 0;
    case IoOperation::kWrite:
      return 1;
    case IoOperation::kTrim:
      return 3;
    default:
      return 2;
  }
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

IoJob::IoJob(const IoWorkload& workload, const IoStream& stream, const Piece& piece,
             const JobSeat& seat, std::uint64_t seed)
    : workload_(workload),
      stream_(stream),
      phase_(static_cast<double>(seat.job) / stream.jobs),
      seed_(seed),
      content_(stream.content, seat.stream_seed),
      source_(stream, piece, seed, seat),
      slots_(stream.depth),
      done_(stream.depth),
      submit_limit_(stream.submit_batch == 0 ? stream.depth : stream.submit_batch) {
  const auto& cpus = workload.cpus;
  cpus_ =
      workload.pinned && !cpus.empty() ? std::vector<int>{cpus[seat.thread % cpus.size()]} : cpus;
  if (stream.verify) log_.emplace(piece, WrittenLog::unit_of(stream), seat.run_mark);
  if (stream.reads()) recorders_[0] = std::make_unique<Recorder>();
  if (stream.writes()) recorders_[1] = std::make_unique<Recorder>();
  if (stream.flush_every() != 0) recorders_[2] = std::make_unique<Recorder>();
  if (stream.trims()) recorders_[3] = std::make_unique<Recorder>();
  for (const auto& recorder : recorders_) {
    if (recorder) only_ = only_ == nullptr ? recorder.get() : nullptr;
  }
  if (stream.operations() + (stream.flush_every() != 0) > 1) only_ = nullptr;
  for (std::uint32_t slot = stream.depth; slot > 0; --slot) free_.push_back(slot - 1);
  batch_.reserve(stream.depth);
}

void IoJob::watch(IntervalSeries& series) {
  constexpr IoOperation kOperations[kRecorders] = {IoOperation::kRead, IoOperation::kWrite,
                                                   IoOperation::kFlush, IoOperation::kTrim};
  for (std::size_t i = 0; i < kRecorders; ++i) {
    if (recorders_[i]) series.watch(std::string(operation_name(kOperations[i])), *recorders_[i]);
  }
}

void IoJob::open(const std::vector<int>& files) {
  // First: memory comes from the node of the thread that touches it.
  if (!cpus_.empty()) keep_thread_on(cpus_);
  const auto targets = static_cast<std::uint32_t>(files.size() / 2);
  file_ = stream_.write_sync == WriteSync::kOpened ? targets + stream_.target : stream_.target;
  buffers_ = std::make_unique<IoBuffers>(stream_.depth, stream_.largest_block_bytes(),
                                         source_.rng(), stream_.reads() && stream_.writes());
  engine_ = make_engine(workload_.engine);
  EngineSetup setup;
  setup.files = files;
  setup.depth = stream_.depth;
  setup.buffers = buffers_->all();
  setup.registered = workload_.registered;
  setup.polled = workload_.polled;
  setup.kernel_thread = workload_.kernel_thread;
  engine_->open(setup);
  outcome_.shortfalls = engine_->limits().shortfalls;
}

Arrivals IoJob::make_arrivals(std::int64_t start_ns) const {
  const double rate_per_s = stream_.rate_per_s / stream_.jobs;
  switch (stream_.arrivals) {
    case ArrivalKind::kConstant:
      return Arrivals::constant(rate_per_s, start_ns, phase_);
    case ArrivalKind::kPoisson:
      return Arrivals::poisson(rate_per_s, start_ns, seed_);
    case ArrivalKind::kClosed:
      break;
  }
  return Arrivals::closed();
}

void IoJob::run(const JobSchedule& schedule, std::atomic<bool>& stop) noexcept {
  rusage before{};
  ::getrusage(RUSAGE_THREAD, &before);
  // The kernel may round a sleep up by 50 us unless told otherwise: lateness of our own making.
  ::prctl(PR_SET_TIMERSLACK, 1);
  schedule_ = schedule;
  stop_ = &stop;
  arrivals_ = make_arrivals(schedule.start_ns);
  std::int64_t now_ns = clock_.now_ns();
  while (now_ns < schedule_.end_ns && !stop.load(std::memory_order_relaxed)) {
    if (asked_ >= schedule_.budget_bytes && in_flight_ == 0 && batch_.empty()) break;
    fill(now_ns);
    submit();
    now_ns = collect(now_ns);
  }
  drain();
  rusage after{};
  ::getrusage(RUSAGE_THREAD, &after);
  outcome_.cpu_user_s = seconds(after.ru_utime) - seconds(before.ru_utime);
  outcome_.cpu_system_s = seconds(after.ru_stime) - seconds(before.ru_stime);
}

bool IoJob::wants_more(std::int64_t now_ns) const noexcept {
  if (flush_due_ || asked_ >= schedule_.budget_bytes) return false;
  if (stream_.think_ns > 0 && unthought_ >= stream_.think_every) return false;
  if (arrivals_.kind() == ArrivalKind::kClosed) return true;
  const std::int64_t due_ns = arrivals_.due_ns(now_ns);
  return due_ns <= now_ns && due_ns < schedule_.end_ns;
}

void IoJob::fill(std::int64_t now_ns) noexcept {
  if (flush_due_) take_flush_turn();
  const bool open_loop = arrivals_.kind() != ArrivalKind::kClosed;
  while (!free_.empty() && wants_more(now_ns)) {
    IoRequest request{};
    if (!draw(request)) break;
    push(request, open_loop ? arrivals_.due_ns(now_ns) : kAtStart);
    if (open_loop) arrivals_.advance();
    note_asked(request);
  }
  asked_bytes_.store(asked_, std::memory_order_relaxed);
}

// False when the next request has to wait for one under way to the same place.
bool IoJob::draw(IoRequest& request) noexcept {
  if (held_) {
    request = *held_;
  } else {
    source_.next(request);
  }
  held_.reset();
  if (!log_ || request.operation == IoOperation::kRead || log_->begin(request)) return true;
  held_ = request;
  return false;
}

void IoJob::note_asked(const IoRequest& request) noexcept {
  asked_ += request.length;
  ++unthought_;
  if (stream_.flush_every() != 0 && request.operation == IoOperation::kWrite) {
    flush_due_ = ++unflushed_ == stream_.flush_every();
  }
}

// The flush goes alone, once all that it is to cover has finished.
void IoJob::take_flush_turn() noexcept {
  if (in_flight_ != 0 || !batch_.empty()) return;
  IoRequest request{};
  request.operation = stream_.fsync_every != 0 ? IoOperation::kFlush : IoOperation::kDataFlush;
  push(request, kAtStart);
}

void IoJob::push(IoRequest request, std::int64_t intended_ns) noexcept {
  request.slot = free_.back();
  free_.pop_back();
  request.file = file_;
  if (request.operation == IoOperation::kRead) {
    request.buffer = buffers_->slot(request.slot);
  } else if (request.operation == IoOperation::kWrite) {
    request.buffer = buffers_->written_slot(request.slot);
    request.durable = stream_.write_sync == WriteSync::kEach;
    content_.refresh(request.buffer, request.length, source_.rng());
    if (log_) log_->stamp(request);
  }
  slots_[request.slot] = {intended_ns, 0, request.offset, request.length, request.operation};
  batch_.push_back(request);
}

void IoJob::submit() noexcept {
  std::size_t handed = 0;
  while (handed < batch_.size()) {
    const auto call = next_call(handed);
    const std::int64_t started_ns = clock_.now_ns();
    const std::uint32_t accepted = engine_->submit(call);
    for (const auto& request : call.first(accepted)) mark_started(request.slot, started_ns);
    in_flight_ += accepted;
    handed += accepted;
    if (accepted < call.size()) break;
  }
  if (handed == batch_.size()) return batch_.clear();
  batch_.erase(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(handed));
}

// Trims run inside the submit call: each is one of its own, or the others would have its time.
std::span<const IoRequest> IoJob::next_call(std::size_t handed) const noexcept {
  const auto rest = std::span<const IoRequest>(batch_).subspan(handed);
  const auto most = rest.first(std::min<std::size_t>(rest.size(), submit_limit_));
  if (!stream_.trims()) return most;
  const auto trim = std::find_if(most.begin(), most.end(), [](const IoRequest& request) {
    return request.operation == IoOperation::kTrim;
  });
  const auto before = static_cast<std::size_t>(trim - most.begin());
  return most.first(std::max<std::size_t>(before, 1));
}

void IoJob::mark_started(std::uint32_t slot, std::int64_t started_ns) noexcept {
  Slot& marked = slots_[slot];
  marked.started_ns = started_ns;
  if (marked.intended_ns == kAtStart) {
    marked.intended_ns = started_ns;
  } else if (started_ns >= schedule_.measured_from_ns) {
    outcome_.lateness.record(started_ns - marked.intended_ns);
  }
}

// Waits for what the loop needs next: a completion, or the next due time.
std::int64_t IoJob::collect(std::int64_t now_ns) noexcept {
  if (stream_.think_ns > 0 && unthought_ >= stream_.think_every && in_flight_ == 0 &&
      batch_.empty() && !flush_due_) {
    return think(now_ns);
  }
  const bool waits_for_time = arrivals_.kind() != ArrivalKind::kClosed && !free_.empty() &&
                              batch_.empty() && !flush_due_ && !held_ &&
                              asked_ < schedule_.budget_bytes;
  if (!waits_for_time) return reap(stream_.reap_batch, -1);
  const std::int64_t until_ns =
      std::min({arrivals_.due_ns(now_ns), schedule_.end_ns, now_ns + kLook_ns});
  if (in_flight_ > 0) return reap(1, std::max<std::int64_t>(0, until_ns - clock_.now_ns()));
  clock_.sleep_until_ns(until_ns);
  return clock_.now_ns();
}

// In steps, so that a stop is seen.
std::int64_t IoJob::think(std::int64_t now_ns) noexcept {
  if (think_until_ns_ == 0) think_until_ns_ = now_ns + stream_.think_ns;
  clock_.sleep_until_ns(std::min({think_until_ns_, schedule_.end_ns, now_ns + kLook_ns}));
  now_ns = clock_.now_ns();
  if (now_ns >= think_until_ns_) {
    think_until_ns_ = 0;
    unthought_ = 0;
  }
  return now_ns;
}

std::int64_t IoJob::reap(std::uint32_t minimum, std::int64_t timeout_ns) noexcept {
  const std::uint32_t count = engine_->reap(std::min(minimum, in_flight_), done_, timeout_ns);
  const std::int64_t now_ns = clock_.now_ns();
  in_flight_ -= count;
  if (count > 0) record(std::span<const IoCompletion>(done_).first(count), now_ns);
  return now_ns;
}

void IoJob::record(std::span<const IoCompletion> done, std::int64_t now_ns) noexcept {
  if (only_ != nullptr) {
    Recorder::Batch batch(*only_);
    for (const auto& completion : done) finish(completion, now_ns, batch);
    return;
  }
  std::array<std::optional<Recorder::Batch>, kRecorders> batches;
  for (std::size_t i = 0; i < kRecorders; ++i) {
    if (recorders_[i]) batches[i].emplace(*recorders_[i]);
  }
  for (const auto& completion : done) {
    finish(completion, now_ns, *batches[recorder_of(slots_[completion.slot].operation)]);
  }
}

void IoJob::finish(const IoCompletion& done, std::int64_t now_ns, Recorder::Batch& batch) noexcept {
  const Slot& slot = slots_[done.slot];
  free_.push_back(done.slot);
  const bool succeeded = done.result == static_cast<std::int64_t>(slot.length);
  if (log_ && slot.length != 0 && slot.operation != IoOperation::kRead) {
    log_->end(slot.operation, slot.offset, slot.length, succeeded);
  }
  if (succeeded) {
    batch.add({slot.intended_ns, slot.started_ns, now_ns}, slot.length);
  } else {
    const int code = done.result < 0 ? static_cast<int>(-done.result) : ENODATA;
    batch.add_error(code);
    fail(slot, code);
  }
  if (slot.length == 0) {  // the flush
    flush_due_ = false;
    unflushed_ = 0;
  }
}

void IoJob::fail(const Slot& slot, int code) noexcept {
  if (!outcome_.failure) {
    outcome_.failure = IoFailure{code, slot.operation, stream_.target, slot.offset, slot.length};
  }
  if (workload_.on_error == OnError::kStop) stop_->store(true, std::memory_order_relaxed);
}

// All that was started counts, however late it finishes; what the engine never took is no I/O.
void IoJob::drain() noexcept {
  while (in_flight_ > 0) reap(in_flight_, -1);
  count_backlog();
  for (const auto& request : batch_) free_.push_back(request.slot);
  batch_.clear();
  if (stream_.flush_every() == 0 || unflushed_ == 0 || outcome_.failure) return;
  take_flush_turn();
  submit();
  while (in_flight_ > 0) reap(in_flight_, -1);
}

void IoJob::count_backlog() noexcept {
  if (arrivals_.kind() == ArrivalKind::kClosed) return;
  outcome_.backlog = batch_.size();
  const std::int64_t ended_ns = std::min(schedule_.end_ns, clock_.now_ns());
  while (arrivals_.due_ns(ended_ns) < ended_ns && asked_ < schedule_.budget_bytes) {
    arrivals_.advance();
    ++outcome_.backlog;
  }
}

}  // namespace plimsoll
