#include "rawio/device/observer.h"

#include <fmt/format.h>

#include "rawio/device/block_stat_observer.h"
#include "rawio/device/trace_observer.h"
#include "results/base/error.h"
#ifndef PLIMSOLL_BPF_ABSENCE
#include "rawio/device/bpf/bpf_observer.h"
#endif

namespace plimsoll {

void write_sample(Record& record, const Part& part, bool measured, const ObserverSample& sample) {
  for (IntervalRow row : sample.rows) {
    row.part = part.id;
    row.measured = measured;
    record.add_interval(row);
  }
  for (const auto& point : sample.points) {
    record.add_point(part, point.source, point.name, point.at_ns, point.value);
  }
  for (const auto& warning : sample.warnings) record.warn(warning);
}

namespace {

template <typename T>
std::unique_ptr<Observer> make_of(const SystemRoots& roots) {
  return std::make_unique<T>(roots);
}

std::string no_obstacle() {
  return {};
}

#ifdef PLIMSOLL_BPF_ABSENCE
std::unique_ptr<Observer> make_bpf(const SystemRoots&) {
  throw RefusedError(PLIMSOLL_BPF_ABSENCE);
}
std::string bpf_obstacle() {
  return PLIMSOLL_BPF_ABSENCE;
}
#else
constexpr auto make_bpf = make_of<BpfObserver>;
#endif

}  // namespace

const std::vector<ObserverKind>& observer_kinds() {
  static const std::vector<ObserverKind> kinds = {
      {"bpf", "eBPF in the kernel: a histogram of every request, by driver and by queue time",
       "driver time of bio-based devices (zram, device-mapper, md)", make_bpf, bpf_obstacle},
      {"trace", "block trace events through perf: a histogram of every request's driver time",
       "queue time, what callers of a flush wait, whose I/O it is; costs more a request",
       make_of<TraceObserver>, trace_obstacle},
      {"stat", "the kernel's block statistics: counts, bytes and mean latency, without privilege",
       "percentiles, driver time apart from queue time, flushes of bio-based devices, whose I/O "
       "it is",
       make_of<BlockStatObserver>, no_obstacle},
  };
  return kinds;
}

std::unique_ptr<Observer> make_observer(std::string_view name, const SystemRoots& roots) {
  std::string known;
  for (const auto& kind : observer_kinds()) {
    if (kind.name == name) return kind.make(roots);
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw UsageError("no observer \"" + std::string(name) + "\"; there are: " + known);
}

StartedObserver start_best_observer(const DeviceStack& stack, std::int64_t now_ns,
                                    const OwnProcesses& ours, const SystemRoots& roots) {
  StartedObserver started;
  std::string reasons;
  for (const auto& kind : observer_kinds()) {
    std::string why = kind.obstacle();
    if (why.empty()) {
      try {
        started.observer = kind.make(roots);
        started.observer->tell_apart(ours);
        started.observer->start(stack, now_ns);
        started.name = kind.name;
        return started;
      } catch (const Error& error) {
        why = error.what();
      }
    }
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kind.name, why);
    started.missed.push_back({std::string(kind.name), std::move(why)});
  }
  throw RefusedError("the device can't be observed: " + reasons);
}

Json describe(const StartedObserver& started) {
  Json described = {{"name", started.name}};
  described.update(started.observer->describe());
  Json missed = Json::array();
  for (const auto& [name, why] : started.missed) missed.push_back({{"name", name}, {"why", why}});
  described["missed"] = missed;
  return described;
}

}  // namespace plimsoll
