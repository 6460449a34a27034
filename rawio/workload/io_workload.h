// What to do to a drive, as plain data. Suites, presets and job files make these; run_raw runs
// them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rawio/workload/buffer_content.h"
#include "rawio/workload/spread.h"
#include "results/measure/arrivals.h"

namespace plimsoll {

enum class AccessPattern { kSequential, kRandom, kStrided };
// How a write reaches the medium by itself: not, by O_DSYNC at the opening, or by RWF_DSYNC on
// each.
enum class WriteSync { kNone, kOpened, kEach };
enum class OnError { kStop, kCount };

// A share of the blocks; the percents of a stream add up to 100.
struct BlockShare {
  std::uint32_t size_bytes = 4096;
  double percent = 100;
};

// Jobs that do the same. A log appender with readers and page writers beside it are three streams
// of one workload.
struct IoStream {
  std::string name = "randread";
  std::uint32_t target = 0;   // index into the targets of the run
  double read_percent = 100;  // 0..100
  double trim_percent = 0;    // 0..100; what neither reads nor trims writes
  std::vector<BlockShare> blocks = std::vector<BlockShare>(1);
  AccessPattern pattern = AccessPattern::kRandom;
  Spread spread = {};      // of random accesses
  bool no_repeat = false;  // uniform: every block once, in random order, before any again
  // Strided: from start to start; at the end it goes on one block after where it began, so that all
  // blocks get their turn.
  std::uint64_t stride_bytes = 0;
  ContentShares content = {};
  // Each written unit carries where, when and by which run it was written, and is looked for after
  // the run. Jobs then have an equal piece each, also random ones, and no write overtakes another
  // of the same place. Takes 4 bytes of memory per unit (4 KiB, or what divides all blocks).
  bool verify = false;

  // Open loop (constant, poisson): rate_per_s is of all jobs of the stream together, each having
  // its share and its own phase. A request that is due while all slots are taken waits, and its
  // response time has the wait.
  ArrivalKind arrivals = ArrivalKind::kClosed;
  double rate_per_s = 0;

  std::uint32_t depth = 1;  // requests in flight, a job
  std::uint32_t jobs = 1;   // threads

  // After this many writes of a job it lets all it has in flight finish, flushes, and goes on when
  // the flush has finished, as a log writer does; also once at the end when writes are left
  // unflushed. 0: never. At most one of the two.
  std::uint32_t fsync_every = 0;
  std::uint32_t fdatasync_every = 0;

  WriteSync write_sync = WriteSync::kNone;

  // Closed loop: after so many requests a job lets all it has in flight finish, and then waits.
  std::int64_t think_ns = 0;
  std::uint32_t think_every = 1;

  std::uint32_t submit_batch = 0;  // at most so many requests a submit call; 0: all that are free
  std::uint32_t reap_batch = 1;    // wait for at least so many completions a reap

  // The part of the target that is used; 0 bytes: to its end. Sequential and strided jobs have an
  // equal piece of it each; random jobs all of it.
  std::uint64_t span_offset_bytes = 0;
  std::uint64_t span_bytes = 0;

  bool reads() const { return read_percent > 0; }
  bool trims() const { return trim_percent > 0; }
  bool writes() const { return read_percent + trim_percent < 100; }
  bool changes() const { return writes() || trims(); }
  // Each job has an equal piece of the span of its own.
  bool own_pieces() const { return verify || pattern != AccessPattern::kRandom; }
  int operations() const { return int{reads()} + int{writes()} + int{trims()}; }
  std::uint32_t flush_every() const { return fsync_every != 0 ? fsync_every : fdatasync_every; }
  std::uint32_t largest_block_bytes() const;
};

struct IoWorkload {
  std::string name;  // of the record's part: "raw randread 4k depth 32"
  std::vector<IoStream> streams = {IoStream{}};
  std::string engine = "io_uring";
  std::int64_t runtime_ns = 0;  // of the measured part; 0: until `bytes`
  std::uint64_t bytes = 0;      // warm-up included, an equal share a job; 0: until time
  std::int64_t warm_up_ns = 0;  // before the measured part; only marks which samples count
  std::int64_t interval_ns = 1'000'000'000;
  std::uint64_t seed = 1;
  bool registered = true;      // io_uring: register buffers and files where possible
  bool polled = false;         // io_uring IOPOLL
  bool kernel_thread = false;  // io_uring SQPOLL
  OnError on_error = OnError::kStop;
  // Processors that the jobs' threads stay on: job n on the n-th alone, going round; or, not
  // pinned, each on any of them. Empty: where the kernel puts them.
  std::vector<int> cpus = {};
  bool pinned = false;

  bool changes() const;  // a stream writes or trims
};

// Every field, for the record; enough to build the workload again.
nlohmann::ordered_json to_json(const IoWorkload& workload);

// "randread 4k", "rw 70/30 8k+64k zipf:1.2": a stream in few words.
std::string describe(const IoStream& stream);

// What run_raw needs to know of a target to check a workload against it.
struct TargetShape {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::uint32_t logical_block_bytes = 512;  // what direct I/O must be a multiple of
  bool writable = true;
};

// Throws UsageError in one line, before any I/O: a block that is no multiple of the logical block,
// a span beyond the end, a piece smaller than a block, percents that don't add up, and the like.
void check_workload(const IoWorkload& workload, const std::vector<TargetShape>& targets);

}  // namespace plimsoll
