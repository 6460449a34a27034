#include "results/report/text_sysbench.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr double kMillisecond_ns = 1e6;

Part last_oltp_part(const Record& record) {
  const auto parts = record.parts();
  const auto found = std::find_if(parts.rbegin(), parts.rend(),
                                  [](const Part& part) { return part.kind == "oltp"; });
  if (found == parts.rend()) throw UsageError("the record holds no run of a database workload");
  return *found;
}

std::string counted(const char* label, std::uint64_t count, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(count) / seconds : 0;
  return fmt::format("    {:<37}{:<6} ({:.2f} per sec.)\n", label, count, rate);
}

std::string sql_statistics(const Part& part, std::uint64_t committed, double seconds) {
  const Json queries = part.spec.value("queries", Json::object());
  std::string text = "SQL statistics:\n    queries performed:\n";
  std::uint64_t total = 0;
  for (const char* kind : {"read", "write", "other"}) {
    const std::uint64_t count = committed * queries.value(kind, std::uint64_t{0});
    text += fmt::format("        {:<33}{}\n", std::string(kind) + ":", count);
    total += count;
  }
  text += fmt::format("        {:<33}{}\n", "total:", total);
  text += counted("transactions:", committed, seconds) + counted("queries:", total, seconds);
  text += counted("ignored errors:", part.facts.value("retried", std::uint64_t{0}), seconds);
  return text + counted("reconnects:", part.facts.value("reconnects", std::uint64_t{0}), seconds);
}

std::string latency_line(const std::string& label, double ns) {
  return fmt::format("         {:<31}{:>15.2f}\n", label, ns / kMillisecond_ns);
}

std::string latency(const Histogram& response, double percentile) {
  const std::string ordinal = fmt::format("{:g}th percentile:", percentile);
  return "Latency (ms):\n" + latency_line("min:", static_cast<double>(response.min())) +
         latency_line("avg:", response.mean()) +
         latency_line("max:", static_cast<double>(response.max())) +
         latency_line(ordinal, static_cast<double>(response.percentile(percentile))) +
         latency_line("sum:", response.sum());
}

}  // namespace

std::string render_sysbench(const Record& record, double percentile) {
  const Part part = last_oltp_part(record);
  const IntervalRow total = record.total(part, "oltp", "");
  const double seconds = static_cast<double>(total.end_ns - total.start_ns) * 1e-9;
  Histogram response;
  for (const LatencyRow& row : total.latencies) {
    if (row.measure == "response") response = row.histogram;
  }
  return sql_statistics(part, total.count, seconds) +
         fmt::format("\nGeneral statistics:\n    {:<37}{:.4f}s\n    {:<37}{}\n\n",
                     "total time:", seconds, "total number of events:", total.count) +
         latency(response, percentile);
}

}  // namespace plimsoll
