#include "results/report/page_data.h"

#include <cmath>

#include "results/correlate/timeline.h"
#include "results/report/report.h"
#include "results/report/shell_words.h"

namespace plimsoll {

namespace {

constexpr int kPointsADecade = 20;

Json percentile_points(const Histogram& histogram) {
  Json points = Json::array();
  const auto count = static_cast<double>(histogram.count());
  for (int step = 0;; ++step) {
    const double nines = std::pow(10, static_cast<double>(step) / kPointsADecade);
    if (nines >= count) break;
    points.push_back({nines, histogram.percentile(100 * (1 - 1 / nines))});
  }
  points.push_back({count, histogram.max()});
  return points;
}

void add_percentiles(Json& list, const std::string& source, const std::string& operation,
                     const IntervalRow& total) {
  for (const auto& [measure, histogram] : total.latencies) {
    if (histogram.count() == 0) continue;
    list.push_back({{"source", source},
                    {"operation", operation},
                    {"measure", measure},
                    {"count", histogram.count()},
                    {"points", percentile_points(histogram)}});
  }
}

Json percentiles_json(const Record& record, const Part& part) {
  Json list = Json::array();
  for (const auto& source : record.sources(part)) {
    const auto operations = record.operations(part, source);
    if (source == "oltp" && operations.size() > 1) {
      add_percentiles(list, source, "all", record.total(part, source, ""));
    }
    for (const auto& operation : operations) {
      add_percentiles(list, source, operation, record.total(part, source, operation));
    }
  }
  return list;
}

// Three decimals hold all that a rate or a mean of nanoseconds can tell, in half the bytes.
Json rounded(const std::optional<double>& value) {
  if (!value) return Json();
  const double result = std::round(*value * 1000) / 1000;
  if (result == std::floor(result) && std::abs(result) < 9e15) {
    return static_cast<std::int64_t>(result);
  }
  return result;
}

std::int64_t measured_start_ns(const Timeline& timeline) {
  for (std::size_t step = 0; step < timeline.steps(); ++step) {
    if (timeline.measured[step]) {
      return timeline.start_ns + static_cast<std::int64_t>(step) * timeline.step_ns;
    }
  }
  return timeline.start_ns;
}

double seconds_since(std::int64_t zero_ns, std::int64_t at_ns) {
  return static_cast<double>(at_ns - zero_ns) / 1e9;
}

Json timeline_json(const Timeline& timeline, std::int64_t zero_ns) {
  if (timeline.steps() == 0) return Json();
  Json times = Json::array();
  Json measured = Json::array();
  for (std::size_t step = 0; step < timeline.steps(); ++step) {
    const auto at_ns = timeline.start_ns + static_cast<std::int64_t>(step) * timeline.step_ns;
    times.push_back(rounded(seconds_since(zero_ns, at_ns)));
    measured.push_back(static_cast<bool>(timeline.measured[step]));
  }
  Json list = Json::array();
  for (const auto& series : timeline.series) {
    Json values = Json::array();
    for (const auto& value : series.values) values.push_back(rounded(value));
    list.push_back({{"source", series.source},
                    {"name", series.name},
                    {"unit", series.unit},
                    {"values", std::move(values)}});
  }
  return {{"step_s", seconds_since(0, timeline.step_ns)},
          {"time_s", std::move(times)},
          {"measured", std::move(measured)},
          {"series", std::move(list)}};
}

Json events_json(const std::vector<Event>& events, const Part& part, std::int64_t zero_ns) {
  Json list = Json::array();
  for (const auto& event : events) {
    if (event.at_ns < part.start_ns || (part.end_ns && event.at_ns > *part.end_ns)) continue;
    list.push_back({{"at_s", seconds_since(zero_ns, event.at_ns)},
                    {"length_s", seconds_since(0, event.length_ns)},
                    {"kind", event.kind},
                    {"text", event.text}});
  }
  return list;
}

}  // namespace

Json page_data(const Record& record) {
  const auto events = record.events();
  Json parts = Json::array();
  for (const auto& part : record.parts()) {
    const auto timeline = make_timeline(record, part);
    const auto zero_ns = measured_start_ns(timeline);
    parts.push_back({{"name", part.name},
                     {"kind", part.kind},
                     {"timeline", timeline_json(timeline, zero_ns)},
                     {"percentiles", percentiles_json(record, part)},
                     {"events", events_json(events, part, zero_ns)}});
  }
  return {{"run", render_json(record)},
          {"repeat", shell_words(record.spec().argv)},
          {"parts", std::move(parts)}};
}

}  // namespace plimsoll
