#include "rawio/workload/io_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rawio/engine/engines.h"
#include "rawio/engine/io_engine.h"
#include "rawio/workload/written_log.h"
#include "results/base/error.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

const char* pattern_name(AccessPattern pattern) {
  switch (pattern) {
    case AccessPattern::kSequential:
      return "sequential";
    case AccessPattern::kStrided:
      return "strided";
    case AccessPattern::kRandom:
      break;
  }
  return "random";
}

const char* arrival_name(ArrivalKind kind) {
  switch (kind) {
    case ArrivalKind::kConstant:
      return "constant";
    case ArrivalKind::kPoisson:
      return "poisson";
    case ArrivalKind::kClosed:
      break;
  }
  return "closed";
}

const char* write_sync_name(WriteSync sync) {
  switch (sync) {
    case WriteSync::kOpened:
      return "O_DSYNC";
    case WriteSync::kEach:
      return "RWF_DSYNC";
    case WriteSync::kNone:
      break;
  }
  return "none";
}

Json to_json(const IoStream& stream) {
  Json blocks = Json::array();
  for (const auto& block : stream.blocks) {
    blocks.push_back({{"size_bytes", block.size_bytes}, {"percent", block.percent}});
  }
  return {
      {"name", stream.name},
      {"target", stream.target},
      {"read_percent", stream.read_percent},
      {"trim_percent", stream.trim_percent},
      {"blocks", blocks},
      {"pattern", pattern_name(stream.pattern)},
      {"distribution", describe(stream.spread)},
      {"no_repeat", stream.no_repeat},
      {"stride_bytes", stream.stride_bytes},
      {"compress_percent", stream.content.compress_percent},
      {"dedupe_percent", stream.content.dedupe_percent},
      {"verify", stream.verify},
      {"arrivals", arrival_name(stream.arrivals)},
      {"rate_per_s", stream.arrivals == ArrivalKind::kClosed ? Json() : Json(stream.rate_per_s)},
      {"depth", stream.depth},
      {"jobs", stream.jobs},
      {"fsync_every", stream.fsync_every},
      {"fdatasync_every", stream.fdatasync_every},
      {"write_sync", write_sync_name(stream.write_sync)},
      {"think_ns", stream.think_ns},
      {"think_every", stream.think_every},
      {"submit_batch", stream.submit_batch},
      {"reap_batch", stream.reap_batch},
      {"span_offset_bytes", stream.span_offset_bytes},
      {"span_bytes", stream.span_bytes}};
}

void check_blocks(const IoStream& stream, const TargetShape& target) {
  double percents = 0;
  if (stream.blocks.empty()) throw UsageError("no block size: give --bs");
  for (const auto& block : stream.blocks) {
    if (block.size_bytes == 0 || block.size_bytes % target.logical_block_bytes != 0) {
      throw UsageError(fmt::format("block size {} is no multiple of the {}-byte sectors of {}",
                                   block.size_bytes, target.logical_block_bytes, target.name));
    }
    if (!(block.percent > 0)) throw UsageError("a block size's share must be over 0 %");
    percents += block.percent;
  }
  if (std::abs(percents - 100) > 0.01) {
    throw UsageError(fmt::format("the block sizes' shares add up to {:g} %, not 100 %", percents));
  }
}

std::string job_count(std::uint64_t jobs) {
  return fmt::format("{} job{}", jobs, jobs == 1 ? "" : "s");
}

// As it is typed: "3,000,000/s", "0.05/s".
std::string rate_text(double per_s) {
  return per_s >= 1000 && per_s < 1e18
             ? format_thousands(static_cast<std::uint64_t>(std::llround(per_s))) + "/s"
             : fmt::format("{:g}/s", per_s);
}

void check_span(const IoStream& stream, const TargetShape& target) {
  const std::uint64_t offset = stream.span_offset_bytes;
  if (offset % target.logical_block_bytes != 0) {
    throw UsageError(fmt::format("offset {} is no multiple of the {}-byte sectors of {}", offset,
                                 target.logical_block_bytes, target.name));
  }
  if (offset >= target.size_bytes) {
    throw UsageError(fmt::format("offset {} lies beyond {}, which has {} bytes: lower --offset",
                                 offset, target.name, target.size_bytes));
  }
  if (stream.span_bytes > target.size_bytes - offset) {
    throw UsageError(
        fmt::format("{} bytes from offset {} end beyond {}, which has {} bytes: lower "
                    "--size{}",
                    stream.span_bytes, offset, target.name, target.size_bytes,
                    offset > 0 ? " or --offset" : ""));
  }
  const std::uint64_t span = stream.span_bytes ? stream.span_bytes : target.size_bytes - offset;
  const std::uint64_t pieces = stream.own_pieces() ? stream.jobs : 1;
  for (const auto& block : stream.blocks) {
    if (span / pieces >= block.size_bytes) continue;
    throw UsageError(fmt::format("{} for each of {} hold no block of {}: raise --size",
                                 format_size(span / pieces), job_count(pieces),
                                 format_size(block.size_bytes)));
  }
}

void check_pace(const IoStream& stream) {
  if (stream.depth == 0 || stream.jobs == 0) throw UsageError("--depth and --jobs start at 1");
  if (stream.reap_batch == 0 || stream.reap_batch > stream.depth) {
    throw UsageError(fmt::format("a reap of {} at depth {}: it takes 1 to the depth",
                                 stream.reap_batch, stream.depth));
  }
  if (stream.think_ns < 0 || stream.think_every == 0) {
    throw UsageError("a think time is not negative, and comes after 1 or more requests");
  }
  if (stream.arrivals == ArrivalKind::kClosed) return;
  if (stream.think_ns > 0) throw UsageError("a rate is its own pace: drop --thinktime or --rate");
  const double job_rate = stream.rate_per_s / stream.jobs;
  if (!(job_rate >= 0.1) || job_rate > 2e6) {
    throw UsageError(fmt::format("{} over {}: a job's rate is from 0.1/s to 2,000,000/s",
                                 rate_text(stream.rate_per_s), job_count(stream.jobs)));
  }
}

void check_shares(const IoStream& stream) {
  const auto share = [](double percent) { return percent >= 0 && percent <= 100; };
  if (!share(stream.read_percent) || !share(stream.trim_percent) ||
      stream.read_percent + stream.trim_percent > 100) {
    throw UsageError(fmt::format("{:g} % reads and {:g} % trims: it takes 0 to 100 together",
                                 stream.read_percent, stream.trim_percent));
  }
  if (!share(stream.content.compress_percent) || !share(stream.content.dedupe_percent)) {
    throw UsageError("--compress and --dedupe take 0 to 100 %");
  }
}

void check_pattern(const IoStream& stream, const TargetShape& target) {
  const bool random = stream.pattern == AccessPattern::kRandom;
  if (!random && (stream.spread.kind != SpreadKind::kUniform || stream.no_repeat)) {
    throw UsageError("a distribution and --no-repeat need random accesses: use --rw randread");
  }
  if (stream.no_repeat) {
    if (stream.spread.kind != SpreadKind::kUniform) {
      throw UsageError("--no-repeat asks each block once: drop --distribution");
    }
    if (stream.blocks.size() > 1) throw UsageError("--no-repeat takes one block size");
  }
  if (stream.pattern != AccessPattern::kStrided) return;
  if (stream.stride_bytes < stream.largest_block_bytes() ||
      stream.stride_bytes % target.logical_block_bytes != 0) {
    throw UsageError(fmt::format("stride {}: a multiple of {} bytes, at least the block size",
                                 stream.stride_bytes, target.logical_block_bytes));
  }
}

constexpr std::uint64_t kVerifyMemory_bytes = 256ull << 20;

void check_verify(const IoStream& stream, const TargetShape& target) {
  if (!stream.verify) return;
  if (!stream.writes()) throw UsageError("--verify looks for what was written: use --rw write");
  if (stream.content.dedupe_percent > 0) {
    throw UsageError("--verify marks each block, which leaves no copies: drop --dedupe");
  }
  const std::uint64_t span =
      stream.span_bytes ? stream.span_bytes : target.size_bytes - stream.span_offset_bytes;
  const auto memory =
      WrittenLog::memory_bytes({stream.span_offset_bytes, span}, WrittenLog::unit_of(stream));
  if (memory <= kVerifyMemory_bytes) return;
  throw UsageError(fmt::format("--verify of {} would take {} of memory, over {}: lower --size",
                               format_size(span), format_size(memory),
                               format_size(kVerifyMemory_bytes)));
}

// What one stream looks for no other may overwrite.
void check_verified_apart(const IoWorkload& workload, const std::vector<TargetShape>& targets) {
  const auto end_of = [&](const IoStream& stream) {
    return stream.span_bytes ? stream.span_offset_bytes + stream.span_bytes
                             : targets[stream.target].size_bytes;
  };
  for (const auto& one : workload.streams) {
    for (const auto& other : workload.streams) {
      const bool apart = &one == &other || one.target != other.target || !other.changes() ||
                         end_of(one) <= other.span_offset_bytes ||
                         end_of(other) <= one.span_offset_bytes;
      if (!one.verify || apart) continue;
      throw UsageError(
          fmt::format("stream {} verifies what stream {} writes over: give each its "
                      "own --offset and --size",
                      one.name, other.name));
    }
  }
}

void check_stream(const IoStream& stream, const TargetShape& target) {
  check_shares(stream);
  if (stream.fsync_every != 0 && stream.fdatasync_every != 0) {
    throw UsageError("--fsync and --fdatasync exclude each other");
  }
  if (stream.write_sync != WriteSync::kNone && !stream.writes()) {
    throw UsageError("--sync is of writes, and there are none: use --rw write");
  }
  if (stream.flush_every() != 0 && !stream.writes()) {
    throw UsageError("--fsync and --fdatasync count writes, and there are none: use --rw write");
  }
  if (stream.changes() && !target.writable) {
    throw RefusedError(target.name + " can't be written: use --rw read or randread");
  }
  check_pace(stream);
  check_blocks(stream, target);
  check_pattern(stream, target);
  check_span(stream, target);
  check_verify(stream, target);
}

// What only io_uring has, and what its polling can't do.
void check_engine_options(const IoWorkload& workload) {
  if (!workload.polled && !workload.kernel_thread) return;
  if (workload.engine != "io_uring") {
    throw UsageError("--polled and --sqpoll are of io_uring: use --engine io_uring");
  }
  for (const auto& stream : workload.streams) {
    if (!workload.polled || stream.flush_every() == 0) continue;
    throw UsageError("a polled ring takes no flushes: drop --polled, or --fsync and --fdatasync");
  }
}

}  // namespace

std::uint32_t IoStream::largest_block_bytes() const {
  const auto smaller = [](const auto& a, const auto& b) { return a.size_bytes < b.size_bytes; };
  return std::max_element(blocks.begin(), blocks.end(), smaller)->size_bytes;
}

bool IoWorkload::changes() const {
  return std::any_of(streams.begin(), streams.end(), [](const auto& s) { return s.changes(); });
}

Json to_json(const IoWorkload& workload) {
  Json streams = Json::array();
  for (const auto& stream : workload.streams) streams.push_back(to_json(stream));
  return {{"streams", streams},
          {"engine", workload.engine},
          {"runtime_ns", workload.runtime_ns},
          {"bytes", workload.bytes},
          {"warm_up_ns", workload.warm_up_ns},
          {"interval_ns", workload.interval_ns},
          {"seed", workload.seed},
          {"registered", workload.registered},
          {"polled", workload.polled},
          {"kernel_thread", workload.kernel_thread},
          {"cpus", workload.cpus},
          {"pinned", workload.pinned},
          {"on_error", workload.on_error == OnError::kStop ? "stop" : "count"}};
}

std::string describe(const IoStream& stream) {
  std::string sizes;
  for (const auto& block : stream.blocks) {
    const bool whole = block.size_bytes % 1024 == 0;
    sizes += sizes.empty() ? "" : "+";
    sizes +=
        whole ? fmt::format("{}k", block.size_bytes / 1024) : fmt::format("{}", block.size_bytes);
  }
  std::string text = stream.name + " ";
  if (stream.operations() > 1) {
    text += fmt::format("{:g}/{:g}", stream.read_percent,
                        100 - stream.read_percent - stream.trim_percent);
    text += stream.trims() ? fmt::format("/{:g} ", stream.trim_percent) : " ";
  }
  text += sizes;
  if (stream.spread.kind != SpreadKind::kUniform) text += " " + describe(stream.spread);
  text += fmt::format(" depth {}", stream.depth);
  if (stream.jobs > 1) text += fmt::format(" x {} jobs", stream.jobs);
  return text;
}

void check_workload(const IoWorkload& workload, const std::vector<TargetShape>& targets) {
  if (workload.streams.empty()) throw UsageError("a workload without a stream does nothing");
  if (workload.runtime_ns <= 0 && workload.bytes == 0) {
    throw UsageError("the run has no end: give --runtime or --bytes");
  }
  if (workload.runtime_ns < 0 || workload.warm_up_ns < 0 || workload.interval_ns < 1'000'000) {
    throw UsageError("times must not be negative, and --interval at least 1ms");
  }
  const auto max_depth = make_engine(workload.engine)->limits().max_depth;
  for (const auto& stream : workload.streams) {
    check_stream(stream, targets.at(stream.target));
    check_depth(workload.engine.c_str(), stream.depth, max_depth);
  }
  check_verified_apart(workload, targets);
  check_engine_options(workload);
}

}  // namespace plimsoll
