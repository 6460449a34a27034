#include "rawio/device/trace_observer.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>

#include "results/base/error.h"
#include "results/measure/clock.h"

namespace plimsoll {
namespace {

using Kind = TraceEvent::Kind;

constexpr std::uint32_t kSector_bytes = 512;
constexpr std::size_t kMostInFlight = 1u << 20;
constexpr auto kCollectEvery = std::chrono::milliseconds(10);
// An event gets its time before it gets into the buffer; so long after, it is there.
constexpr std::int64_t kSettled_ns = 1'000'000;

struct OperationRow {
  char letter;
  const char* name;
  bool in_every_interval;
};

constexpr OperationRow kOperations[] = {
    {'R', "read", true}, {'W', "write", true}, {'F', "flush", true}, {'D', "discard", false}};

std::uint32_t kernel_number(const BlockDevice& device) {
  return major(device.number) << 20 | minor(device.number);
}

// A flush without data is a write of nothing to a bio.
char operation_of(const TraceEvent& event) {
  const bool bio = event.kind == Kind::kBioQueue || event.kind == Kind::kBioComplete;
  return bio && event.operation == 'W' && event.sectors == 0 ? 'F' : event.operation;
}

// A flush has no place: the kernel calls it sector 0 when issued, and none at its completion.
std::uint64_t sector_of(const TraceEvent& event) {
  return operation_of(event) == 'F' ? 0 : event.sector;
}

}  // namespace

void TraceMatcher::add(const TraceEvent& event) {
  const auto found = watched_.find(event.device);
  if (found == watched_.end()) return;
  auto& [bios, totals] = found->second;
  const bool of_bio = event.kind == Kind::kBioQueue || event.kind == Kind::kBioComplete;
  if (of_bio != bios || event.operation == 'N') return;
  if (event.kind == Kind::kIssue || event.kind == Kind::kBioQueue) {
    begin(event);
  } else {
    end(event, totals);
  }
}

void TraceMatcher::begin(const TraceEvent& event) {
  // Completions that were lost leave their beginnings behind.
  if (begun_.size() >= kMostInFlight) begun_.clear();
  begun_.emplace(Key{sector_of(event), event.device, operation_of(event)},
                 Begun{event.at_ns, event.sectors});
}

void TraceMatcher::end(const TraceEvent& event, Device& device) {
  // The end of a flush sequence, whose parts were counted.
  if (event.kind == Kind::kComplete && event.operation == 'W' && event.sectors == 0) return;
  const auto found = begun_.find(Key{sector_of(event), event.device, operation_of(event)});
  if (found == begun_.end()) {
    ++device.unmatched;
    return;
  }
  const Begun begun = found->second;
  begun_.erase(found);
  if (event.error == 0 && event.sectors < begun.sectors) {
    ++device.partial;
    device.operations[operation_of(event)].bytes += std::uint64_t{event.sectors} * kSector_bytes;
    begun_.emplace(Key{event.sector + event.sectors, event.device, operation_of(event)},
                   Begun{begun.at_ns, begun.sectors - event.sectors});
    return;
  }
  finish(event, begun.at_ns, device);
}

void TraceMatcher::finish(const TraceEvent& event, std::int64_t begun_ns, Device& device) {
  auto& totals = device.operations[operation_of(event)];
  if (event.error != 0) {
    ++totals.errors_by_code[event.error];
    return;
  }
  ++totals.count;
  totals.bytes += std::uint64_t{event.sectors} * kSector_bytes;
  totals.latency.record(event.at_ns - begun_ns);
}

TraceObserver::~TraceObserver() {
  stop_collecting();
}

void TraceObserver::stop_collecting() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void TraceObserver::start(const DeviceStack& stack, std::int64_t now_ns) {
  stop_collecting();
  devices_.clear();
  waiting_.clear();
  matcher_ = {};
  DeviceStack rest;
  std::vector<std::uint32_t> numbers;
  for (const auto& level : stack.levels) {
    const bool whole = level.kind != LevelKind::kPartition;
    (whole ? devices_ : rest.levels).push_back(level);
    if (!whole) continue;
    numbers.push_back(kernel_number(level));
    matcher_.watch(numbers.back(), level.bio_based);
  }
  if (devices_.empty()) throw RefusedError("no whole disk under the target to observe");
  events_ = std::make_unique<TraceEvents>(numbers);
  statistics_.start(rest, now_ns);
  lost_before_ = 0;
  last_ns_ = now_ns;
  first_ = true;
  thread_ = std::jthread([this](std::stop_token stop) { collect(stop); });
}

void TraceObserver::collect(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(kCollectEvery);
    const std::lock_guard lock(mutex_);
    match_until(SystemClock::instance().now_ns() - kSettled_ns);
  }
}

// Later events stay for the next time: their order with those still to come isn't known.
void TraceObserver::match_until(std::int64_t horizon_ns) {
  events_->drain(waiting_);
  const auto earlier = [](const TraceEvent& a, const TraceEvent& b) { return a.at_ns < b.at_ns; };
  std::stable_sort(waiting_.begin(), waiting_.end(), earlier);
  auto next = waiting_.begin();
  while (next != waiting_.end() && next->at_ns <= horizon_ns) matcher_.add(*next++);
  waiting_.erase(waiting_.begin(), next);
}

ObserverSample TraceObserver::sample(std::int64_t now_ns) {
  SystemClock::instance().sleep_until_ns(now_ns + kSettled_ns);
  ObserverSample sample = statistics_.sample(now_ns);
  const std::lock_guard lock(mutex_);
  match_until(now_ns);
  for (const auto& device : devices_) add_device(device, now_ns, sample);
  if (const auto lost = events_->lost() - std::exchange(lost_before_, events_->lost())) {
    sample.points.push_back({"observer", "missed", now_ns, static_cast<double>(lost)});
    sample.warnings.push_back({"observer-lost",
                               "The kernel had no room for some block events; how many is in the "
                               "series \"missed\" of \"observer\"."});
  }
  last_ns_ = now_ns;
  first_ = false;
  return sample;
}

void TraceObserver::add_device(const BlockDevice& device, std::int64_t now_ns,
                               ObserverSample& sample) {
  auto done = matcher_.take(kernel_number(device));
  const std::string source = "device:" + device.name;
  for (const auto& operation : kOperations) {
    auto& totals = done.operations[operation.letter];
    if (!operation.in_every_interval && totals.count == 0 && totals.errors_by_code.empty())
      continue;
    IntervalRow row;
    row.source = source;
    row.operation = operation.name;
    row.start_ns = last_ns_;
    row.end_ns = now_ns;
    row.count = totals.count;
    row.bytes = totals.bytes;
    for (const auto& [code, times] : totals.errors_by_code) row.errors += times;
    row.errors_by_code = totals.errors_by_code;
    if (totals.count != 0) {
      row.latencies.push_back({device.bio_based ? "q2c" : "d2c", std::move(totals.latency)});
    }
    sample.rows.push_back(std::move(row));
  }
  if (done.partial != 0) {
    sample.points.push_back(
        {source, "partial_completions", now_ns, static_cast<double>(done.partial)});
  }
  if (done.unmatched == 0) return;
  sample.points.push_back({source, "unmatched", now_ns, static_cast<double>(done.unmatched)});
  if (first_) return;  // in flight at the start
  sample.warnings.push_back(
      {"observer-lost", fmt::format("Completions of {} without their beginning aren't counted; how "
                                    "many is in its series \"unmatched\".",
                                    device.name)});
}

Json TraceObserver::describe() const {
  Json devices = Json::array();
  for (const auto& device : devices_) {
    devices.push_back({{"name", device.name},
                       {"followed_by", device.bio_based ? "bios" : "requests"},
                       {"latency", device.bio_based ? "q2c" : "d2c"}});
  }
  return {{"method", "block trace events through perf"},
          {"latency", "histograms of driver to complete (D2C); bio-based devices: Q2C"},
          {"resolution_ns", 1},
          {"unseen",
           {"queue time (Q2C) of request-based devices", "what callers of a flush waited",
            "latency of partitions apart from their disk", "whose I/O it is",
            "which of two requests for one sector in flight together completed first"}},
          {"devices", devices}};
}

}  // namespace plimsoll
