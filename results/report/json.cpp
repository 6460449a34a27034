#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "results/report/report.h"

namespace plimsoll {

namespace {

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json rate(double amount, double seconds) {
  return seconds > 0 ? number_or_null(amount / seconds) : Json();
}

double seconds_of(const IntervalRow& row) {
  return static_cast<double>(row.end_ns - row.start_ns) / 1e9;
}

Json fact(const Part& part, const std::string& name) {
  return part.facts.is_object() && part.facts.contains(name) ? part.facts[name] : Json();
}

Json latency_json(const Histogram& histogram) {
  if (histogram.count() == 0) return Json();
  return {{"count", histogram.count()},      {"mean", histogram.mean()},
          {"min", histogram.min()},          {"p50", histogram.percentile(50)},
          {"p90", histogram.percentile(90)}, {"p95", histogram.percentile(95)},
          {"p99", histogram.percentile(99)}, {"p999", histogram.percentile(99.9)},
          {"max", histogram.max()},          {"stddev", histogram.stddev()}};
}

const Histogram* find_latency(const IntervalRow& row, const std::string& measure) {
  const auto found = std::find_if(row.latencies.begin(), row.latencies.end(),
                                  [&](const LatencyRow& one) { return one.measure == measure; });
  return found == row.latencies.end() ? nullptr : &found->histogram;
}

Json latency_json(const IntervalRow& row, const std::string& measure) {
  const auto* histogram = find_latency(row, measure);
  return histogram == nullptr ? Json() : latency_json(*histogram);
}

Json mean_ns(const IntervalRow& row) {
  if (row.count == 0) return Json();
  if (const auto* d2c = find_latency(row, "d2c"); d2c != nullptr && d2c->count() > 0) {
    return d2c->mean();
  }
  // The kernel adds up whole milliseconds: none in all is too little to be known.
  return row.time_sum_ns <= 0 ? Json() : Json(row.time_sum_ns / static_cast<double>(row.count));
}

bool contains(const std::vector<std::string>& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

Json one_device_json(const Record& record, const Part& part, const std::string& source) {
  const auto operations = record.operations(part, source);
  Json device{{"name", source.substr(source.find(':') + 1)}};
  const auto total = [&](const std::string& operation) -> std::optional<IntervalRow> {
    if (!contains(operations, operation)) return std::nullopt;
    return record.total(part, source, operation);
  };
  const std::array<std::array<const char*, 2>, 3> counted{
      {{"read", "reads"}, {"write", "writes"}, {"flush", "flushes"}}};
  for (const auto& [operation, key] : counted) {
    const auto row = total(operation);
    device[key] = row ? Json(row->count) : Json();
    const std::string prefix = operation;
    if (prefix != "flush") device[prefix + "_bytes"] = row ? Json(row->bytes) : Json();
    device[prefix + "_mean_ns"] = row ? mean_ns(*row) : Json();
    device[prefix + "_d2c_ns"] = row ? latency_json(*row, "d2c") : Json();
  }
  return device;
}

// The drive under test among the levels that were observed: the first that the environment calls
// a drive, else the first of all.
Json device_json(const Record& record, const Part& part, const Json& environment) {
  std::vector<std::string> devices;
  for (const auto& source : record.sources(part)) {
    if (source.starts_with("device:")) devices.push_back(source);
  }
  if (devices.empty()) return Json();
  const auto drive = environment.value("drive", Json::object());
  for (const auto& name : drive.value("drives", Json::array())) {
    const auto source = "device:" + name.get<std::string>();
    if (contains(devices, source)) return one_device_json(record, part, source);
  }
  return one_device_json(record, part, devices.front());
}

Json raw_operation(const IntervalRow& row) {
  const double seconds = seconds_of(row);
  return {{"count", row.count},
          {"bytes", row.bytes},
          {"iops", rate(static_cast<double>(row.count), seconds)},
          {"bytes_per_s", rate(static_cast<double>(row.bytes), seconds)},
          {"errors", row.errors},
          {"service_ns", latency_json(row, "service")},
          {"response_ns", latency_json(row, "response")}};
}

Json raw_json(const Record& record, const Part& part, const Json& environment) {
  Json operations = Json::object();
  for (const auto& operation : record.operations(part, "raw")) {
    operations[operation] = raw_operation(record.total(part, "raw", operation));
  }
  return {{"operations", operations},
          {"asked_rate", fact(part, "asked_rate")},
          {"achieved_rate", fact(part, "achieved_rate")},
          {"cpu", fact(part, "cpu")},
          {"engine", fact(part, "engine")},
          {"device", device_json(record, part, environment)}};
}

// What became of the transactions; only the run itself counted it.
constexpr const char* kAccounting[] = {"committed", "user_rollbacks", "retried", "failed",
                                       "errors"};

Json transaction_json(const IntervalRow& row, const Json& counted) {
  Json object{{"tps", rate(static_cast<double>(row.count), seconds_of(row))}};
  for (const auto* key : kAccounting) object[key] = counted.value(key, Json());
  object["response_ns"] = latency_json(row, "response");
  object["service_ns"] = latency_json(row, "service");
  return object;
}

Json oltp_json(const Record& record, const Part& part, const Json& environment) {
  const auto counted = part.facts.value("transactions", Json::object());
  Json transactions = Json::object();
  for (const auto& name : record.operations(part, "oltp")) {
    transactions[name] =
        transaction_json(record.total(part, "oltp", name), counted.value(name, Json::object()));
  }
  auto object = transaction_json(record.total(part, "oltp", ""), part.facts);
  object["transactions"] = transactions;
  for (const auto* key : {"asked_rate", "threads", "distribution", "client_cpu"}) {
    object[key] = fact(part, key);
  }
  object["device"] = device_json(record, part, environment);
  return object;
}

Json load_json(const Record&, const Part& part, const Json&) {
  return {{"rows", fact(part, "rows")},
          {"bytes", fact(part, "bytes")},
          {"seconds", fact(part, "seconds")}};
}

Json observed_operation(const IntervalRow& row) {
  const double seconds = seconds_of(row);
  Json object{{"count", row.count},
              {"bytes", row.bytes},
              {"iops", rate(static_cast<double>(row.count), seconds)},
              {"bytes_per_s", rate(static_cast<double>(row.bytes), seconds)},
              {"errors", row.errors},
              {"mean_ns", mean_ns(row)},
              {"d2c_ns", latency_json(row, "d2c")},
              {"q2c_ns", latency_json(row, "q2c")}};
  if (row.operation == "flush") object["flush_wait_ns"] = latency_json(row, "flush_wait");
  return object;
}

Json observe_json(const Record& record, const Part& part, const Json&) {
  Json devices = Json::array();
  for (const auto& source : record.sources(part)) {
    if (!source.starts_with("device:")) continue;
    Json operations = Json::object();
    for (const auto& operation : record.operations(part, source)) {
      operations[operation] = observed_operation(record.total(part, source, operation));
    }
    devices.push_back({{"name", source.substr(source.find(':') + 1)}, {"operations", operations}});
  }
  return {{"devices", devices}};
}

struct PartKind {
  const char* kind;
  const char* command;  // whose object has this part's keys at its top
  Json (*render)(const Record&, const Part&, const Json& environment);
};

constexpr PartKind kPartKinds[] = {{"raw", "raw", raw_json},
                                   {"oltp", "oltp run", oltp_json},
                                   {"load", "oltp load", load_json},
                                   {"observe", "observe", observe_json}};

const PartKind* kind_of(const Part& part) {
  const auto* found = std::find_if(std::begin(kPartKinds), std::end(kPartKinds),
                                   [&](const PartKind& kind) { return part.kind == kind.kind; });
  return found == std::end(kPartKinds) ? nullptr : found;
}

// The span of what the load did while measured, or the devices without one; empty when nothing was.
Json measured_s(const Record& record, const Part& part) {
  for (const auto& source : record.sources(part)) {
    if (source != part.kind && part.kind != "observe") continue;
    const double seconds = seconds_of(record.total(part, source, ""));
    return seconds > 0 ? Json(seconds) : Json();
  }
  return Json();
}

Json part_json(const Record& record, const Part& part, const Json& environment) {
  Json object{{"name", part.name},
              {"kind", part.kind},
              {"finished", part.end_ns.has_value()},
              {"measured_s", measured_s(record, part)},
              {"spec", part.spec}};
  if (const auto* kind = kind_of(part)) object.update(kind->render(record, part, environment));
  return object;
}

std::string utc_time(std::int64_t wall_ns) {
  const std::chrono::system_clock::time_point at{
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::nanoseconds(wall_ns))};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
}

Json warnings_json(const Record& record) {
  Json list = Json::array();
  for (const auto& warning : record.warnings()) {
    const auto& kind = warning_kind(warning.id);
    list.push_back({{"id", warning.id},
                    {"text", warning.text},
                    {"severity", severity_name(kind.severity)},
                    {"meaning", kind.meaning}});
  }
  return list;
}

Json total_measured_s(const std::vector<Json>& parts) {
  double total = 0;
  for (const auto& part : parts) {
    if (part["measured_s"].is_number()) total += part["measured_s"].get<double>();
  }
  return total > 0 ? Json(total) : Json();
}

Json common_json(const Record& record, const std::vector<Json>& parts) {
  const auto spec = record.spec();
  const auto verdict = record.verdict();
  return {{"command", spec.command},
          {"version", record.version()},
          {"target", spec.target},
          {"run_dir", record.dir().string()},
          {"started_at", utc_time(record.started_wall_ns())},
          {"finished", record.finished()},
          {"measured_s", total_measured_s(parts)},
          {"verdict", verdict.word},
          {"verdict_sentence", verdict.sentence},
          {"warnings", warnings_json(record)},
          {"environment", record.environment()},
          {"argv", spec.argv},
          {"seed", spec.seed},
          {"options", spec.options}};
}

Json parts_of_kind(const std::vector<Json>& parts, const std::string& kind) {
  Json list = Json::array();
  for (const auto& part : parts) {
    if (part["kind"] == kind) list.push_back(part);
  }
  return list;
}

void add_findings(Json& object, const std::vector<Json>& findings) {
  object["correlations"] = Json::array();
  object["findings"] = Json::array();
  for (const auto& finding : findings) {
    const bool is_correlation = finding.value("kind", "") == "correlation";
    object[is_correlation ? "correlations" : "findings"].push_back(finding);
  }
}

void add_qualify_keys(Json& object, const std::vector<Json>& parts) {
  object["drive"] = object["environment"].value("drive", Json());
  object["raw"] = parts_of_kind(parts, "raw");
  const auto loads = parts_of_kind(parts, "load");
  object["load"] = loads.empty() ? Json() : loads.back();
  object["oltp"] = parts_of_kind(parts, "oltp");
}

// The keys of the part that the command is about at the top; all parts where there are others.
void add_command_keys(Json& object, const std::string& command, const std::vector<Json>& parts) {
  for (const auto& kind : kPartKinds) {
    const auto own = parts_of_kind(parts, kind.kind);
    if (command != kind.command || own.empty()) continue;
    for (const auto& [key, value] : own.back().items()) {
      if (key != "finished") object[key] = value;
    }
  }
  if (parts.size() != 1 || !object.contains("kind")) object["parts"] = parts;
}

}  // namespace

Json render_json(const Record& record) {
  const auto environment = record.environment();
  std::vector<Json> parts;
  for (const auto& part : record.parts()) parts.push_back(part_json(record, part, environment));
  Json object = common_json(record, parts);
  const auto command = record.spec().command;
  if (command == "qualify") {
    add_qualify_keys(object, parts);
  } else {
    add_command_keys(object, command, parts);
  }
  add_findings(object, record.findings());
  return object;
}

}  // namespace plimsoll
