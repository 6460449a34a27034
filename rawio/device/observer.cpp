#include "rawio/device/observer.h"

#include "rawio/device/block_stat_observer.h"
#include "results/base/error.h"

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

const std::vector<ObserverKind>& observer_kinds() {
  static const std::vector<ObserverKind> kinds = {
      {"stat", "the kernel's block statistics: counts, bytes and mean latency, without privilege",
       [](const SystemRoots& roots) -> std::unique_ptr<Observer> {
         return std::make_unique<BlockStatObserver>(roots);
       }},
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

}  // namespace plimsoll
