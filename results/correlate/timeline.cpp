#include "results/correlate/timeline.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>

namespace plimsoll {

namespace {

constexpr std::int64_t kTenth_ns = 100'000'000;

bool is_device(const std::string& source) {
  return source.starts_with("device:");
}
bool is_load(const std::string& source) {
  return source == "raw" || source == "oltp";
}

// Collects the values of many series; a series begins to exist with its first value.
class SeriesBuilder {
 public:
  explicit SeriesBuilder(Timeline& timeline) : timeline_(timeline) {}

  void set(const std::string& source, const std::string& name, std::string_view unit,
           std::size_t step, double value) {
    if (!std::isfinite(value)) return;
    const auto [found, is_new] = index_.try_emplace({source, name}, timeline_.series.size());
    if (is_new) {
      timeline_.series.push_back({source, name, std::string(unit), {}});
      timeline_.series.back().values.resize(timeline_.steps());
    }
    timeline_.series[found->second].values[step] = value;
  }

 private:
  Timeline& timeline_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
};

// All rows of one operation (or of all) in one step, merged.
struct StepTotals {
  std::int64_t start_ns = INT64_MAX;
  std::int64_t end_ns = INT64_MIN;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t errors = 0;
  double time_sum_ns = 0;
  bool has_time_sum = true;
  bool measured = true;
  std::map<std::string, Histogram> latencies;

  void add(const IntervalRow& row) {
    start_ns = std::min(start_ns, row.start_ns);
    end_ns = std::max(end_ns, row.end_ns);
    count += row.count;
    bytes += row.bytes;
    errors += row.errors;
    measured = measured && row.measured;
    if (row.time_sum_ns >= 0) {
      time_sum_ns += row.time_sum_ns;
    } else if (row.count > 0) {
      has_time_sum = false;
    }
    for (const auto& latency : row.latencies) latencies[latency.measure].merge(latency.histogram);
  }
  double seconds() const { return static_cast<double>(end_ns - start_ns) / 1e9; }
  const Histogram* latency(const std::string& measure) const {
    const auto found = latencies.find(measure);
    return found == latencies.end() || found->second.count() == 0 ? nullptr : &found->second;
  }
};

std::optional<std::size_t> step_of(const Timeline& timeline, std::int64_t at_ns) {
  if (at_ns < timeline.start_ns) return std::nullopt;
  const auto step = static_cast<std::size_t>((at_ns - timeline.start_ns) / timeline.step_ns);
  return step < timeline.steps() ? std::optional(step) : std::nullopt;
}

std::int64_t middle_ns(const IntervalRow& row) {
  return row.start_ns + (row.end_ns - row.start_ns) / 2;
}

using StepSink = std::function<void(std::size_t step, const std::map<std::string, StepTotals>&)>;

// Rows come in time order, so the rows of a step follow each other. Transactions of all types are
// one series.
void for_each_step(const Record& record, const Part& part, const std::string& source,
                   const Timeline& timeline, const StepSink& sink) {
  std::map<std::string, StepTotals> totals;
  std::optional<std::size_t> current;
  record.for_each_interval(part, source, true, [&](const IntervalRow& row) {
    const auto step = step_of(timeline, middle_ns(row));
    if (step != current) {
      if (current) sink(*current, totals);
      totals.clear();
      current = step;
    }
    if (step) totals[source == "oltp" ? "" : row.operation].add(row);
  });
  if (current) sink(*current, totals);
}

void add_latencies(SeriesBuilder& builder, const std::string& source, const std::string& prefix,
                   const StepTotals& totals, std::size_t step) {
  if (const auto* response = totals.latency("response")) {
    builder.set(source, prefix + "response_mean", "ns", step, response->mean());
    const std::pair<const char*, double> points[] = {{"p50", 50}, {"p99", 99}, {"p999", 99.9}};
    for (const auto& [name, percent] : points) {
      builder.set(source, prefix + "response_" + name, "ns", step,
                  static_cast<double>(response->percentile(percent)));
    }
  }
  if (const auto* service = totals.latency("service")) {
    builder.set(source, prefix + "service_p99", "ns", step,
                static_cast<double>(service->percentile(99)));
  }
}

void add_rates(SeriesBuilder& builder, const std::string& source, const std::string& operation,
               const StepTotals& totals, std::size_t step) {
  builder.set(source, operation + "_iops", "per_s", step,
              static_cast<double>(totals.count) / totals.seconds());
  if (operation != "flush") {
    builder.set(source, operation + "_bytes_per_s", "bytes_per_s", step,
                static_cast<double>(totals.bytes) / totals.seconds());
  }
}

void add_device_latencies(SeriesBuilder& builder, const std::string& source,
                          const std::string& operation, const StepTotals& totals,
                          std::size_t step) {
  if (totals.count == 0) return;
  // A device that takes bios has no driver time.
  const auto* latency = totals.latency("d2c") ? totals.latency("d2c") : totals.latency("q2c");
  if (latency) {
    builder.set(source, operation + "_mean", "ns", step, latency->mean());
    builder.set(source, operation + "_p99", "ns", step,
                static_cast<double>(latency->percentile(99)));
  } else if (totals.has_time_sum && totals.time_sum_ns > 0) {  // none: all under the resolution
    builder.set(source, operation + "_mean", "ns", step,
                totals.time_sum_ns / static_cast<double>(totals.count));
  }
}

void mark_measured(Timeline& timeline, std::size_t step,
                   const std::map<std::string, StepTotals>& operations) {
  const double half_step_s = static_cast<double>(timeline.step_ns) / 2e9;
  timeline.measured[step] =
      std::all_of(operations.begin(), operations.end(), [&](const auto& operation) {
        return operation.second.measured && operation.second.seconds() >= half_step_s;
      });
}

void add_load_step(SeriesBuilder& builder, const std::string& source, std::size_t step,
                   const std::map<std::string, StepTotals>& operations) {
  for (const auto& [operation, totals] : operations) {
    if (!(totals.seconds() > 0)) continue;
    if (source == "oltp") {
      const double seconds = totals.seconds();
      builder.set(source, "tps", "per_s", step, static_cast<double>(totals.count) / seconds);
      builder.set(source, "errors_per_s", "per_s", step,
                  static_cast<double>(totals.errors) / seconds);
      add_latencies(builder, source, "", totals, step);
    } else {
      add_rates(builder, source, operation, totals, step);
      add_latencies(builder, source, operation + "_", totals, step);
    }
  }
}

void add_device_step(SeriesBuilder& builder, const std::string& source, std::size_t step,
                     const std::map<std::string, StepTotals>& operations) {
  for (const auto& [operation, totals] : operations) {
    if (!(totals.seconds() > 0)) continue;
    add_rates(builder, source, operation, totals, step);
    add_device_latencies(builder, source, operation, totals, step);
  }
}

std::string unit_of(std::string_view name) {
  for (const auto* unit : {"bytes_per_s", "per_s", "bytes", "pct", "ns"}) {
    if (name.ends_with(unit)) return unit;
  }
  return "";
}

void add_points(Timeline& timeline, SeriesBuilder& builder, const std::string& source,
                const std::string& name, const std::vector<SeriesPoint>& points) {
  std::map<std::size_t, std::pair<double, int>> sums;
  for (const auto& point : points) {
    const auto step = step_of(timeline, point.at_ns - timeline.step_ns / 2);
    if (!step) continue;
    sums[*step].first += point.value;
    sums[*step].second += 1;
  }
  for (const auto& [step, sum] : sums) {
    builder.set(source, name, unit_of(name), step, sum.first / sum.second);
  }
}

// The rows that set the axis: the load's, or without a load the first device's.
std::vector<IntervalRow> axis_rows(const Record& record, const Part& part) {
  const auto sources = record.sources(part);
  for (const auto wanted : {is_load, is_device}) {
    const auto found = std::find_if(sources.begin(), sources.end(), wanted);
    if (found == sources.end()) continue;
    auto rows = record.intervals(part, *found, false);
    if (!rows.empty()) return rows;
  }
  return {};
}

// A step begins where the measured part does: a warm-up that isn't whole steps long would share one
// with the first measured interval, which would then count as neither.
std::int64_t start_of_steps(const std::vector<IntervalRow>& rows, std::int64_t step_ns) {
  const std::int64_t first_ns = rows.front().start_ns;
  const auto measured =
      std::find_if(rows.begin(), rows.end(), [](const IntervalRow& row) { return row.measured; });
  if (measured == rows.end()) return first_ns;
  const std::int64_t warm_up_ns = measured->start_ns - first_ns;
  return measured->start_ns - (warm_up_ns + step_ns - 1) / step_ns * step_ns;
}

void set_axis(Timeline& timeline, const std::vector<IntervalRow>& rows) {
  if (rows.empty()) return;
  std::vector<std::int64_t> lengths_ns;
  std::int64_t last_middle_ns = 0;
  for (const auto& row : rows) {
    lengths_ns.push_back(row.end_ns - row.start_ns);
    last_middle_ns = std::max(last_middle_ns, middle_ns(row));
  }
  const auto middle = lengths_ns.begin() + static_cast<std::ptrdiff_t>(lengths_ns.size() / 2);
  std::nth_element(lengths_ns.begin(), middle, lengths_ns.end());
  timeline.step_ns = std::max(kTenth_ns, (*middle + kTenth_ns / 2) / kTenth_ns * kTenth_ns);
  timeline.start_ns = start_of_steps(rows, timeline.step_ns);
  const auto steps = (last_middle_ns - timeline.start_ns) / timeline.step_ns + 1;
  timeline.measured.assign(static_cast<std::size_t>(steps), false);
}

void drop_what_never_happened(Timeline& timeline) {
  std::erase_if(timeline.series, [](const TimelineSeries& series) {
    const bool is_rate = series.unit == "per_s" || series.unit == "bytes_per_s";
    return is_rate && series.name != "tps" &&
           std::all_of(series.values.begin(), series.values.end(),
                       [](const auto& value) { return !value || *value == 0; });
  });
}

}  // namespace

const TimelineSeries* Timeline::find(const std::string& source, const std::string& name) const {
  const auto found = std::find_if(series.begin(), series.end(), [&](const TimelineSeries& one) {
    return one.source == source && one.name == name;
  });
  return found == series.end() ? nullptr : &*found;
}

Timeline make_timeline(const Record& record, const Part& part) {
  Timeline timeline;
  set_axis(timeline, axis_rows(record, part));
  if (timeline.steps() == 0) return timeline;
  SeriesBuilder builder(timeline);
  for (const auto& source : record.sources(part)) {
    for_each_step(record, part, source, timeline, [&](std::size_t step, const auto& operations) {
      if (is_load(source)) {
        mark_measured(timeline, step, operations);
        add_load_step(builder, source, step, operations);
      } else {
        add_device_step(builder, source, step, operations);
      }
    });
    for (const auto& name : record.series_names(part, source)) {
      add_points(timeline, builder, source, name, record.series(part, source, name));
    }
  }
  drop_what_never_happened(timeline);
  return timeline;
}

}  // namespace plimsoll
