#include "results/report/text_observe.h"

#include <fmt/format.h>

#include "results/report/text_layout.h"

namespace plimsoll {

std::string observe_sentence(const Json& part) {
  std::vector<std::string> said;
  for (const auto& device : part["devices"]) {
    for (const auto& [name, operation] : device["operations"].items()) {
      if (operation["count"] == 0) continue;
      said.push_back(fmt::format("{} {} {} a second", text_of(device, "name"), name,
                                 count_cell(operation["iops"])));
    }
  }
  return said.empty() ? "the device did nothing" : fmt::format("{}", fmt::join(said, "; "));
}

// Driver time, or for devices without requests the time since they were queued.
std::string observe_table(const Json& part, const TextStyle& style) {
  TextTable table({"Device", "IOPS", "MiB/s", "mean", "p50", "p99", "p99.9", "max"});
  for (const auto& device : part["devices"]) {
    for (const auto& [name, operation] : device["operations"].items()) {
      const auto label = text_of(device, "name") + " " + name;
      for (const std::string measure : {"d2c", "q2c", "flush_wait"}) {
        const auto latency = get(operation, measure + "_ns");
        if (latency.is_null()) continue;
        std::vector<std::string> cells{label + ", " + measure, count_cell(operation["iops"]),
                                       name == "flush" ? "-" : mib_cell(operation["bytes_per_s"])};
        add_latency_cells(cells, latency);
        table.add(std::move(cells));
      }
      if (!get(operation, "d2c_ns").is_null() || !get(operation, "q2c_ns").is_null()) continue;
      table.add({label, count_cell(operation["iops"]), mib_cell(operation["bytes_per_s"]),
                 duration_cell(operation["mean_ns"]), "-", "-", "-", "-"});
    }
  }
  return table.str(style);
}

}  // namespace plimsoll
