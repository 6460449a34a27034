#include "results/correlate/doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "results/base/units.h"

namespace plimsoll {
namespace {

constexpr double kOthersShare = 0.1;
constexpr double kOthersLeast_bytes = 4.0 * static_cast<double>(kMiB);
constexpr double kBusyPercent = 15;
constexpr double kSaturatedShare = 0.95;
constexpr std::uint64_t kFewestForP99 = 1000;

// The worst of the parts that gave cause, and how many did.
class WorstPart {
 public:
  void add(double size, const std::string& text) {
    ++count_;
    if (text_.empty() || size > size_) {
      size_ = size;
      text_ = text;
    }
  }
  void report(const char* id, std::vector<Warning>& warnings) const {
    if (count_ == 0) return;
    const auto others = count_ == 1 ? "" : fmt::format(" (and in {} other parts)", count_ - 1);
    warnings.push_back({id, text_ + others});
  }

 private:
  double size_ = 0;
  int count_ = 0;
  std::string text_;
};

// Who told processes apart during the run knows better than a difference of bytes.
bool already_warned(const Record& record, const char* id) {
  const auto warnings = record.warnings();
  return std::any_of(warnings.begin(), warnings.end(),
                     [&](const Warning& warning) { return warning.id == id; });
}

// Bytes read and written, warm-up included.
double bytes_moved(const Record& record, const Part& part, const std::string& source) {
  double bytes = 0;
  record.for_each_interval(part, source, false, [&](const IntervalRow& row) {
    if (row.operation != "trim" && row.operation != "discard") {
      bytes += static_cast<double>(row.bytes);
    }
  });
  return bytes;
}

// The one physical drive that was watched beneath the target; a set of drives writes more than
// it is asked to.
std::optional<std::string> only_drive(const Record& record, const Part& part) {
  const auto drives =
      record.environment().value("drive", Json::object()).value("drives", Json::array());
  if (drives.size() != 1) return std::nullopt;
  const auto name = drives.front().get<std::string>();
  const auto sources = record.sources(part);
  if (std::find(sources.begin(), sources.end(), "device:" + name) == sources.end()) {
    return std::nullopt;
  }
  return name;
}

void find_others(const Record& record, const Part& part, WorstPart& worst) {
  const auto drive = only_drive(record, part);
  if (!drive) return;
  const double ours = bytes_moved(record, part, "raw");
  const double all = bytes_moved(record, part, "device:" + *drive);
  const double others = all - ours;
  if (others < kOthersLeast_bytes || others < kOthersShare * ours) return;
  worst.add(others / all, fmt::format("{:.0f} % of what {} moved in {} wasn't asked for by it",
                                      100 * others / all, *drive, part.name));
}

double mean_of(const Record& record, const Part& part, const std::string& name) {
  const auto points = record.series(part, "cpu", name);
  double sum = 0;
  for (const auto& point : points) sum += point.value;
  return points.empty() ? 0 : sum / static_cast<double>(points.size());
}

// System time isn't told apart: the kernel does our I/O in threads of its own.
void find_busy(const Record& record, const Part& part, WorstPart& worst) {
  const double others = mean_of(record, part, "user_pct") - mean_of(record, part, "self_user_pct");
  if (others < kBusyPercent) return;
  worst.add(others, fmt::format("other processes took {:.0f} % of the processors in {}", others,
                                part.name));
}

double jobs_of(const Part& part) {
  double jobs = 0;
  for (const auto& stream : part.spec.value("streams", Json::array())) {
    jobs += stream.value("jobs", 1.0);
  }
  return jobs;
}

// Polling takes a whole processor by nature.
void find_saturated(const Part& part, WorstPart& worst) {
  const auto cpu = part.facts.value("cpu", Json::object());
  const double jobs = jobs_of(part);
  const bool polls = part.spec.value("polled", false) || part.spec.value("kernel_thread", false);
  if (cpu.empty() || jobs == 0 || !part.end_ns || polls) return;
  if (part.spec.value("engine", "") == "null") return;
  const double seconds = static_cast<double>(*part.end_ns - part.start_ns) / 1e9;
  const double busy_s = cpu.value("user_s", 0.0) + cpu.value("system_s", 0.0);
  const double share = busy_s / (seconds * jobs);
  if (share < kSaturatedShare) return;
  worst.add(share, fmt::format("the threads of {} were on a processor for {:.0f} % of it: more "
                               "--jobs may show more",
                               part.name, 100 * share));
}

void find_short(const Record& record, const Part& part, WorstPart& worst) {
  std::map<std::string, std::uint64_t> counts;
  record.for_each_interval(part, part.kind, false, [&](const IntervalRow& row) {
    if (row.measured) counts[part.kind == "oltp" ? "transaction" : row.operation] += row.count;
  });
  for (const auto& [operation, count] : counts) {
    if (count == 0 || count >= kFewestForP99) continue;
    worst.add(1.0 / static_cast<double>(count),
              fmt::format("{} has {} of kind {}: a p99 of so few rests on {}", part.name, count,
                          operation, count < 200 ? "one or two" : "a handful"));
  }
}

// Servers of a database are other processes, and are meant to work.
bool is_own_process(const Record& record, const Part& part) {
  if (part.kind == "raw") return true;
  return record.environment().value("database", Json::object()).value("engine", "") == "sqlite";
}

}  // namespace

std::vector<Warning> find_doubts(const Record& record) {
  WorstPart shared, busy, saturated, short_run;
  for (const auto& part : record.parts()) {
    if (part.kind != "raw" && part.kind != "oltp") continue;
    find_short(record, part, short_run);
    if (is_own_process(record, part)) find_busy(record, part, busy);
    if (part.kind != "raw") continue;
    find_others(record, part, shared);
    find_saturated(part, saturated);
  }
  std::vector<Warning> warnings;
  if (!already_warned(record, "shared-drive")) shared.report("shared-drive", warnings);
  busy.report("busy-machine", warnings);
  saturated.report("saturated-load-generator", warnings);
  short_run.report("short-run", warnings);
  return warnings;
}

}  // namespace plimsoll
