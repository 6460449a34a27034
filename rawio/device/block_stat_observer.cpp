#include "rawio/device/block_stat_observer.h"

#include <fmt/format.h>

#include <utility>

namespace plimsoll {

namespace {

constexpr double kNsPerMs = 1e6;

std::string source_of(const BlockDevice& device) {
  return "device:" + device.name;
}

IntervalRow make_row(const BlockDevice& device, std::string_view operation,
                     const OperationCounters& done, std::int64_t start_ns, std::int64_t end_ns) {
  IntervalRow row;
  row.source = source_of(device);
  row.operation = operation;
  row.start_ns = start_ns;
  row.end_ns = end_ns;
  row.count = done.count;
  row.bytes = done.bytes;
  row.time_sum_ns = done.time_ms * kNsPerMs;
  return row;
}

Warning iostats_off(const BlockDevice& device) {
  return {"iostats-off",
          fmt::format("The kernel counts nothing for {0}; switch its statistics on: echo 1 > "
                      "/sys/block/{0}/queue/iostats",
                      device.name)};
}

Warning gone(const BlockDevice& device) {
  return {"device-vanished",
          fmt::format("{} went away during the run; its series ends there.", device.name)};
}

}  // namespace

bool BlockStatObserver::Watched::counts_flushes() const {
  return last.flush && device.kind != LevelKind::kPartition && !device.bio_based;
}

void BlockStatObserver::watch(const BlockDevice& device) {
  if (device.iostats == false) {
    found_at_start_.push_back(iostats_off(device));
    return;
  }
  BlockStatReader reader(device, roots_);
  const auto counters = reader.read();
  if (!counters) {
    found_at_start_.push_back(gone(device));
    return;
  }
  watched_.push_back({device, std::move(reader), *counters});
}

void BlockStatObserver::start(const DeviceStack& stack, std::int64_t now_ns) {
  watched_.clear();
  found_at_start_.clear();
  for (const auto& device : stack.levels) watch(device);
  last_ns_ = now_ns;
}

// False when the counters are not this device's any more.
bool BlockStatObserver::add_rows(Watched& watched, const BlockCounters& now, std::int64_t now_ns,
                                 ObserverSample& sample) const {
  const auto& last = watched.last;
  const auto read = counters_between(last.read, now.read);
  const auto write = counters_between(last.write, now.write);
  if (!read || !write) return false;
  const auto add = [&](std::string_view operation, const OperationCounters& done) {
    sample.rows.push_back(make_row(watched.device, operation, done, last_ns_, now_ns));
  };
  add("read", *read);
  add("write", *write);
  if (watched.counts_flushes() && now.flush) {
    if (const auto flush = counters_between(*last.flush, *now.flush)) add("flush", *flush);
  }
  if (last.discard && now.discard) {
    const auto discard = counters_between(*last.discard, *now.discard);
    if (discard && discard->count > 0) add("discard", *discard);
  }
  sample.points.push_back(
      {source_of(watched.device), "in_flight", now_ns, static_cast<double>(now.in_flight)});
  return true;
}

ObserverSample BlockStatObserver::sample(std::int64_t now_ns) {
  ObserverSample sample;
  sample.warnings = std::exchange(found_at_start_, {});
  for (auto& watched : watched_) {
    if (watched.gone) continue;
    const auto now = watched.reader.read();
    if (now && add_rows(watched, *now, now_ns, sample)) {
      watched.last = *now;
    } else {
      watched.gone = true;
      sample.warnings.push_back(gone(watched.device));
    }
  }
  last_ns_ = now_ns;
  return sample;
}

Json BlockStatObserver::describe() const {
  Json devices = Json::array();
  for (const auto& watched : watched_) {
    devices.push_back({{"name", watched.device.name},
                       {"flushes", watched.counts_flushes()},
                       {"time", watched.device.bio_based ? "whole jiffies an operation"
                                                         : "nanoseconds, summed, cut to 1 ms"}});
  }
  return {{"method", "block statistics (/sys/block/NAME/stat)"},
          {"latency", "mean of queue to complete (Q2C)"},
          {"resolution_ns", 1'000'000},
          {"unseen",
           {"percentiles", "driver time apart from queue time",
            "writes apart from flushes without data", "flushes of partitions and bio-based devices",
            "whose I/O it is"}},
          {"devices", devices}};
}

}  // namespace plimsoll
