#include "results/report/fio_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr double kFioPercentiles[] = {1,  5,  10, 20, 30,   40,   50,    60,   70,
                                      80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};

Json fio_latency(const Histogram* histogram, bool detailed) {
  const bool any = histogram != nullptr && histogram->count() > 0;
  Json object{{"min", any ? histogram->min() : 0},
              {"max", any ? histogram->max() : 0},
              {"mean", any ? histogram->mean() : 0.0},
              {"stddev", any ? histogram->stddev() : 0.0},
              {"N", any ? histogram->count() : 0}};
  if (!any || !detailed) return object;
  for (const double percent : kFioPercentiles) {
    object["percentile"][fmt::format("{:.6f}", percent)] = histogram->percentile(percent);
  }
  histogram->for_each_bucket([&](auto, auto highest_ns, auto count) {
    object["bins"][std::to_string(highest_ns)] = count;
  });
  return object;
}

const Histogram* histogram_of(const IntervalRow& row, const std::string& measure) {
  for (const auto& latency : row.latencies) {
    if (latency.measure == measure) return &latency.histogram;
  }
  return nullptr;
}

// Of the seconds of a part: what fio samples as bw and iops.
struct Samples {
  std::uint64_t count = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double squares = 0;

  void add(double value) {
    min = count == 0 ? value : std::min(min, value);
    max = std::max(max, value);
    sum += value;
    squares += value * value;
    ++count;
  }
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  double stddev() const {
    if (count == 0) return 0;
    return std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean() * mean()));
  }
};

void add_samples(Json& object, const Record& record, const Part& part,
                 const std::string& operation) {
  Samples iops;
  Samples kib;
  record.for_each_interval(part, "raw", false, [&](const IntervalRow& row) {
    const double seconds = static_cast<double>(row.end_ns - row.start_ns) * 1e-9;
    if (row.operation != operation || !row.measured || seconds <= 0) return;
    iops.add(static_cast<double>(row.count) / seconds);
    kib.add(static_cast<double>(row.bytes) / 1024 / seconds);
  });
  const auto put = [&](const std::string& name, const Samples& samples, bool whole) {
    const auto number = [&](double value) {
      return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
    };
    object[name + "_min"] = number(samples.min);
    object[name + "_max"] = number(samples.max);
    if (name == "bw") object["bw_agg"] = 100.0;
    object[name + "_mean"] = samples.mean();
    object[name == "bw" ? "bw_dev" : "iops_stddev"] = samples.stddev();
    object[name + "_samples"] = samples.count;
  };
  put("bw", kib, true);
  put("iops", iops, true);
}

Json fio_side(const Record& record, const Part& part, const std::string& operation) {
  const auto known = record.operations(part, "raw");
  const bool used = std::find(known.begin(), known.end(), operation) != known.end();
  const IntervalRow row = used ? record.total(part, "raw", operation) : IntervalRow{};
  const double seconds = static_cast<double>(row.end_ns - row.start_ns) * 1e-9;
  const auto rate = [&](std::uint64_t amount) {
    return seconds > 0 ? static_cast<double>(amount) / seconds : 0.0;
  };
  Json side{{"io_bytes", row.bytes},
            {"io_kbytes", row.bytes / 1024},
            {"bw_bytes", static_cast<std::uint64_t>(rate(row.bytes))},
            {"bw", static_cast<std::uint64_t>(rate(row.bytes) / 1024)},
            {"iops", rate(row.count)},
            {"runtime", used ? static_cast<std::int64_t>(seconds * 1000) : 0},
            {"total_ios", row.count},
            {"short_ios", 0},
            {"drop_ios", 0},
            {"slat_ns", fio_latency(nullptr, false)},
            {"clat_ns", fio_latency(histogram_of(row, "service"), true)},
            {"lat_ns", fio_latency(histogram_of(row, "service"), false)},
            {"plimsoll_response_ns", fio_latency(histogram_of(row, "response"), true)}};
  add_samples(side, record, part, operation);
  return side;
}

Json fio_sync(const Record& record, const Part& part) {
  const auto known = record.operations(part, "raw");
  if (std::find(known.begin(), known.end(), "flush") == known.end()) {
    return {{"total_ios", 0}, {"lat_ns", fio_latency(nullptr, false)}};
  }
  const IntervalRow row = record.total(part, "raw", "flush");
  return {{"total_ios", row.count}, {"lat_ns", fio_latency(histogram_of(row, "service"), true)}};
}

// The share of I/Os within each of fio's limits; `limits` ascending, in ns.
Json shares_within(const std::vector<const Histogram*>& histograms, std::int64_t unit_ns,
                   const std::vector<std::int64_t>& limits, std::int64_t from_ns) {
  std::uint64_t total = 0;
  for (const auto* histogram : histograms) total += histogram->count();
  Json shares = Json::object();
  std::int64_t below_ns = from_ns;
  const auto share = [&](std::int64_t low_ns, std::int64_t high_ns) {
    std::uint64_t count = 0;
    for (const auto* histogram : histograms) {
      count += histogram->count_above(low_ns) - (high_ns < 0 ? 0 : histogram->count_above(high_ns));
    }
    return total == 0 ? 0.0 : 100.0 * static_cast<double>(count) / static_cast<double>(total);
  };
  for (const auto limit : limits) {
    shares[std::to_string(limit)] = share(below_ns, limit * unit_ns - 1);
    below_ns = limit * unit_ns - 1;
  }
  if (unit_ns == 1'000'000) shares[">=2000"] = share(below_ns, -1);
  return shares;
}

void add_shares(Json& job, const Record& record, const Part& part) {
  std::vector<IntervalRow> rows;
  for (const auto& operation : record.operations(part, "raw")) {
    if (operation != "flush") rows.push_back(record.total(part, "raw", operation));
  }
  std::vector<const Histogram*> histograms;
  for (const auto& row : rows) {
    if (const auto* histogram = histogram_of(row, "service")) histograms.push_back(histogram);
  }
  job["latency_ns"] =
      shares_within(histograms, 1, {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000}, -1);
  job["latency_us"] =
      shares_within(histograms, 1000, {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000}, 999);
  job["latency_ms"] = shares_within(histograms, 1'000'000,
                                    {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000}, 999'999);
}

Json job_options(const Part& part) {
  const auto streams = part.spec.value("streams", Json::array());
  Json options{{"name", part.name}, {"ioengine", part.spec.value("engine", "")}};
  if (streams.empty()) return options;
  const auto& stream = streams.front();
  options["rw"] = stream.value("name", "");
  options["bs"] = std::to_string(stream["blocks"].front()["size_bytes"].get<std::uint64_t>());
  options["iodepth"] = std::to_string(stream.value("depth", 1));
  options["numjobs"] = std::to_string(stream.value("jobs", 1));
  return options;
}

double cpu_percent(const Part& part, const char* key, double seconds) {
  if (!part.facts.contains("cpu") || seconds <= 0) return 0;
  return 100 * part.facts["cpu"].value(key, 0.0) / seconds;
}

Json fio_job(const Record& record, const Part& part, int group) {
  const double seconds = part.facts.value("measured_s", 0.0);
  Json job{{"jobname", part.name},
           {"groupid", group},
           {"error", 0},
           {"eta", 0},
           {"elapsed", static_cast<std::int64_t>(seconds + 1)},
           {"job options", job_options(part)},
           {"read", fio_side(record, part, "read")},
           {"write", fio_side(record, part, "write")},
           {"trim", fio_side(record, part, "trim")},
           {"sync", fio_sync(record, part)},
           {"job_runtime", static_cast<std::int64_t>(seconds * 1000)},
           {"usr_cpu", cpu_percent(part, "user_s", seconds)},
           {"sys_cpu", cpu_percent(part, "system_s", seconds)},
           {"ctx", 0},
           {"majf", 0},
           {"minf", 0}};
  add_shares(job, record, part);
  job["latency_depth"] = 0;
  job["latency_target"] = 0;
  job["latency_percentile"] = 100.0;
  job["latency_window"] = 0;
  return job;
}

}  // namespace

Json render_fio_json(const Record& record) {
  const std::int64_t ms = record.started_wall_ns() / 1'000'000;
  Json object{{"fio version", "plimsoll-" + record.version()},
              {"timestamp", ms / 1000},
              {"timestamp_ms", ms},
              {"time", record.spec().command},
              {"global options", Json::object()},
              {"jobs", Json::array()},
              {"disk_util", Json::array()}};
  for (const auto& part : record.parts()) {
    if (part.kind != "raw") continue;
    object["jobs"].push_back(fio_job(record, part, static_cast<int>(object["jobs"].size())));
  }
  if (object["jobs"].empty()) {
    throw UsageError(record.dir().string() + " holds no raw run: fio's JSON is of raw I/O");
  }
  return object;
}

}  // namespace plimsoll
