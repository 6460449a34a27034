// Recorders in, one sample an operation and interval out, totals of the measured part kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "results/measure/recorder.h"

namespace plimsoll {

struct IntervalSample {
  std::string operation;  // "read", "write", "flush", "trim", or a transaction's name
  std::int64_t start_ns;  // Clock
  std::int64_t end_ns;
  bool measured;  // false in warm-up
  OpTotals totals;
};

// Used by one thread: the one that ticks. Memory does not grow with the number of intervals.
// Samples are of warm-up until begin_measured().
class IntervalSeries {
 public:
  using Sink = std::function<void(const IntervalSample&)>;

  IntervalSeries(std::int64_t start_ns, Sink sink);

  // Recorders of one operation are merged. The recorder must outlive the series.
  void watch(const std::string& operation, Recorder& recorder);

  // Ends the interval now and begins the next: one sample an operation goes to the sink, also when
  // it did nothing (so that a stall is a row of zeros, not a gap). What the sink throws passes
  // through, with the totals already complete.
  void tick(std::int64_t now_ns);

  // From the next interval on, samples count. Call right after a tick.
  void begin_measured();

  std::int64_t measured_start_ns() const { return measured_start_ns_; }
  // The measured part so far: merged histograms, never averaged percentiles.
  const std::map<std::string, OpTotals>& totals() const { return totals_; }
  // Of the last finished interval, all operations together.
  const OpTotals& last() const { return last_; }
  double last_seconds() const { return last_seconds_; }

 private:
  struct Watched {
    std::vector<Recorder*> recorders;
    IntervalSample sample;
  };
  void collect(Watched& watched, std::int64_t now_ns);

  Sink sink_;
  std::vector<Watched> watched_;  // in the order of watch()
  std::map<std::string, OpTotals> totals_;
  OpTotals last_;
  double last_seconds_ = 0;
  std::int64_t interval_start_ns_;
  std::int64_t measured_start_ns_ = -1;
};

}  // namespace plimsoll
