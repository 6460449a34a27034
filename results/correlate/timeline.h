// One part of a record on one time axis: what was done and what the device did, step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/record/record.h"

namespace plimsoll {

// `values` has one entry a step, empty where the record has none. Names and units:
//   source "oltp":        tps (per_s), errors_per_s, response_mean, response_p50, _p99, _p999 and
//                         service_p99 (ns), all transactions together
//   source "raw":         the same for each operation, as read_iops, read_response_p99 …, and
//                         read_bytes_per_s
//   source "device:NAME": read_iops, read_bytes_per_s, read_mean (ns an operation, from the block
//                         statistics or from d2c), read_p99 (ns, d2c, where observed) …
//   any other source:     the record's series as sampled, averaged over the step
// An operation that a source never did has no series.
struct TimelineSeries {
  std::string source;
  std::string name;
  std::string unit;  // "per_s", "bytes_per_s", "bytes", "ns", "pct" or empty
  std::vector<std::optional<double>> values;
};

struct Timeline {
  std::int64_t start_ns = 0;  // Clock, of the first step
  std::int64_t step_ns = 0;   // the usual interval of the load, to 0.1 s; 1 s without a load
  // True where the load's intervals of the step were measured and fill at least half of it: a
  // short last interval gives rates that say nothing. Totals are never taken from here.
  std::vector<bool> measured;
  std::vector<TimelineSeries> series;

  std::size_t steps() const { return measured.size(); }
  const TimelineSeries* find(const std::string& source, const std::string& name) const;
};

// A row belongs to the step that holds its middle; a sampled point, taken at the end of what it
// describes, to the step that holds the moment half a step before it. Histograms of a step merge.
Timeline make_timeline(const Record& record, const Part& part);

}  // namespace plimsoll
