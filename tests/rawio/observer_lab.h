// What observers write for the record, against I/O of known counts.
#pragma once

#include "rawio/device/observer.h"
#include "tests/rawio/bpf_lab.h"

namespace plimsoll::lab {

inline const IntervalRow* device_row(const ObserverSample& sample, const std::string& source,
                                     const std::string& operation) {
  for (const auto& row : sample.rows) {
    if (row.source == "device:" + source && row.operation == operation) return &row;
  }
  return nullptr;
}

inline const Histogram* latency_of(const IntervalRow& row, const std::string& measure) {
  for (const auto& latency : row.latencies) {
    if (latency.measure == measure) return &latency.histogram;
  }
  return nullptr;
}

inline std::int64_t now_ns() {
  return SystemClock::instance().now_ns();
}

// The sandbox hid something, as told at probed().
inline bool hides_something(const ObserverSample& sample) {
  for (const auto& point : sample.points) {
    for (const char* sign : {"in_flight", "unseen", "unmatched"}) {
      if (point.name == sign && point.value != 0) return true;
    }
  }
  return false;
}

inline void do_each_operation(TimedFile& file) {
  for (int i = 0; i < 50; ++i) REQUIRE(file.read(4096, i * 8192));
  for (int i = 0; i < 40; ++i) REQUIRE(file.write(8192, i * 8192));
  for (int i = 0; i < 10; ++i) REQUIRE(file.flush());
  REQUIRE(file.discard(0, 65536));
}

inline void check_rows(const ObserverSample& sample, const std::string& name, std::int64_t end_ns) {
  const auto* read = device_row(sample, name, "read");
  const auto* write = device_row(sample, name, "write");
  const auto* flush = device_row(sample, name, "flush");
  const auto* discard = device_row(sample, name, "discard");
  REQUIRE((read && write && flush && discard));
  CHECK(read->count == 50);
  CHECK(read->bytes == 50 * 4096);
  CHECK(read->end_ns == end_ns);
  CHECK(write->count == 40);
  CHECK(write->bytes == 40 * 8192);
  CHECK(flush->count == 10);
  CHECK(discard->count == 1);
  CHECK(discard->bytes == 65536);
  REQUIRE(latency_of(*read, "d2c"));
  CHECK(latency_of(*read, "d2c")->count() == 50);
  for (const auto& warning : sample.warnings) UNSCOPED_INFO(warning.text);
  CHECK(sample.warnings.empty());
}

inline void check_silence(Observer& observer, const std::string& name) {
  const auto silent = observer.sample(now_ns());
  REQUIRE(device_row(silent, name, "read"));
  CHECK(device_row(silent, name, "read")->count == 0);
  CHECK(device_row(silent, name, "read")->latencies.empty());
  CHECK(device_row(silent, name, "discard") == nullptr);
}

// Reads, writes, flushes and one discard; then checks what an observer says of the interval.
template <typename T>
void check_counts(const std::string& node, const std::string& name) {
  settled_disk(name);
  for (int tries = 0; tries < 10; ++tries) {
    TimedFile file(node);
    T observer;
    observer.start(identify(node), now_ns());
    do_each_operation(file);
    const auto end_ns = now_ns();
    const auto sample = observer.sample(end_ns);
    if (hides_something(sample) && tries < 9) continue;
    check_rows(sample, name, end_ns);
    const auto* driver = latency_of(*device_row(sample, name, "read"), "d2c");
    CHECK(driver->percentile(50) <= file.reads().percentile(50) * 1.02);
    check_silence(observer, name);
    return;
  }
}

}  // namespace plimsoll::lab
