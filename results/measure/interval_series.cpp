#include "results/measure/interval_series.h"

#include <algorithm>
#include <utility>

namespace plimsoll {

IntervalSeries::IntervalSeries(std::int64_t start_ns, Sink sink)
    : sink_(std::move(sink)), interval_start_ns_(start_ns) {}

void IntervalSeries::watch(const std::string& operation, Recorder& recorder) {
  const auto same = [&](const Watched& watched) { return watched.sample.operation == operation; };
  auto found = std::find_if(watched_.begin(), watched_.end(), same);
  if (found == watched_.end()) {
    found = watched_.insert(found, Watched{{}, IntervalSample{operation, 0, 0, false, {}}});
    totals_.try_emplace(operation);
  }
  found->recorders.push_back(&recorder);
}

void IntervalSeries::collect(Watched& watched, std::int64_t now_ns) {
  IntervalSample& sample = watched.sample;
  sample.start_ns = interval_start_ns_;
  sample.end_ns = now_ns;
  sample.measured = measured_start_ns_ >= 0;
  sample.totals.reset();
  for (Recorder* recorder : watched.recorders) recorder->take(sample.totals);
  if (sample.measured) totals_[sample.operation].merge(sample.totals);
  last_.merge(sample.totals);
}

void IntervalSeries::tick(std::int64_t now_ns) {
  last_.reset();
  last_seconds_ = static_cast<double>(now_ns - interval_start_ns_) / 1e9;
  for (Watched& watched : watched_) collect(watched, now_ns);
  interval_start_ns_ = now_ns;
  // After all are collected, so that a slow sink does not stretch the interval of the next one.
  for (const Watched& watched : watched_) sink_(watched.sample);
}

void IntervalSeries::begin_measured() {
  measured_start_ns_ = interval_start_ns_;
}

}  // namespace plimsoll
