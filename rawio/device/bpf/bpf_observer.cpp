#include "rawio/device/bpf/bpf_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "rawio/device/bpf/layout.h"
#include "rawio/device/sysfs.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

void add_latency(IntervalRow& row, std::string measure, const Histogram& histogram) {
  if (histogram.count() != 0) row.latencies.push_back({std::move(measure), histogram});
}

IntervalRow operation_row(const ProbedDisk& disk, ProbeOperation kind, std::int64_t start_ns,
                          std::int64_t end_ns) {
  const auto& operation = disk.at(kind);
  IntervalRow row;
  row.source = "device:" + disk.name;
  row.operation = probe_operation_name(kind);
  row.start_ns = start_ns;
  row.end_ns = end_ns;
  row.count = operation.count;
  row.bytes = operation.bytes;
  row.errors = operation.errors;
  row.errors_by_code = operation.errors_by_code;
  add_latency(row, "d2c", operation.d2c);
  add_latency(row, "q2c", operation.q2c);
  if (kind == ProbeOperation::kFlush) add_latency(row, "flush_wait", disk.flush_wait);
  return row;
}

bool belongs_in_every_interval(ProbeOperation kind) {
  return kind == ProbeOperation::kRead || kind == ProbeOperation::kWrite ||
         kind == ProbeOperation::kFlush;
}

// Unplugged, or a loop device without its file, or a drive without its medium.
bool has_gone(const std::filesystem::path& disk) {
  return read_number<std::uint64_t>(disk / "size").value_or(0) == 0;
}

// DiskPoints of one disk and interval; those without an event to speak of stay absent.
class DiskPoints {
 public:
  DiskPoints(const ProbedDisk& disk, std::int64_t now_ns, ObserverSample& sample)
      : disk_(disk), now_ns_(now_ns), sample_(sample) {}

  void add(const std::string& name, double value) {
    sample_.points.push_back({"device:" + disk_.name, name, now_ns_, value});
  }
  void add_if_any(const std::string& name, std::uint64_t count) {
    if (count != 0) add(name, static_cast<double>(count));
  }
  void add_operation(ProbeOperation kind) {
    const auto& operation = disk_.at(kind);
    const std::string name(probe_operation_name(kind));
    if (operation.issued != 0) {
      add(name + "_sequential_pct", 100.0 * static_cast<double>(operation.sequential) /
                                        static_cast<double>(operation.issued));
    }
    for (const auto& sizes : operation.sizes) {
      const bool limited = sizes.up_to_bytes != UINT64_MAX;
      add(name + (limited ? fmt::format("_up_to_{}k", sizes.up_to_bytes >> 10) : "_larger"),
          static_cast<double>(sizes.count));
    }
  }

 private:
  const ProbedDisk& disk_;
  std::int64_t now_ns_;
  ObserverSample& sample_;
};

}  // namespace

std::string bpf_obstacle() {
  return probe_obstacle();
}

BpfObserver::BpfObserver(const SystemRoots& roots) : roots_(roots), statistics_(roots) {}

void BpfObserver::load(const DeviceStack& stack) {
  std::vector<ProbeDisk> disks;
  DeviceStack rest;
  for (const auto& level : stack.levels) {
    const bool whole = level.kind != LevelKind::kPartition;
    if (whole && disks.size() < PLM_MAX_DEVICES) {
      disks.push_back(probe_disk(level.name));
    } else {
      rest.levels.push_back(level);
    }
  }
  if (disks.empty()) throw RefusedError("no whole disk under the target to observe");
  probe_.emplace(disks,
                 ProbeOptions{.tell_processes_apart = !ours_.ids.empty(), .measure_cost = true});
  for (const int process : ours_.ids) probe_->add_process(process);
  disks_ = std::move(disks);
  said_.assign(disks_.size(), {});
  last_cost_ = {};
  statistics_ = BlockStatObserver(roots_);
  statistics_.start(rest, last_ns_);
}

void BpfObserver::start(const DeviceStack& stack, std::int64_t now_ns) {
  last_ns_ = now_ns;
  const bool same = probe_ && std::all_of(disks_.begin(), disks_.end(), [&](const auto& disk) {
                      return stack.find(disk.name) != nullptr;
                    });
  if (same) {
    sample(now_ns);
  } else {
    load(stack);
    first_ = true;
  }
}

ObserverSample BpfObserver::sample(std::int64_t now_ns) {
  ObserverSample sample = statistics_.sample(now_ns);
  const auto taken = probe_->read();
  const std::size_t groups = taken.size() / disks_.size();
  for (std::size_t i = 0; i < disks_.size(); ++i) {
    const auto first = taken.begin() + static_cast<std::ptrdiff_t>(i * groups);
    const std::vector<ProbedDisk> parts(first, first + static_cast<std::ptrdiff_t>(groups));
    add_disk(together(parts), i, now_ns, sample);
    if (groups > 1) add_groups(parts, now_ns, sample);
  }
  add_cost(now_ns, sample);
  last_ns_ = now_ns;
  first_ = false;
  return sample;
}

void BpfObserver::add_disk(const ProbedDisk& disk, std::size_t index, std::int64_t now_ns,
                           ObserverSample& sample) {
  DiskPoints points(disk, now_ns, sample);
  for (std::size_t i = 0; i < kProbeOperations; ++i) {
    const auto kind = static_cast<ProbeOperation>(i);
    const auto& operation = disk.operations[i];
    const bool any = operation.count != 0 || operation.errors != 0;
    if (any || belongs_in_every_interval(kind)) {
      sample.rows.push_back(operation_row(disk, kind, last_ns_, now_ns));
    }
    points.add_operation(kind);
  }
  points.add("in_flight", static_cast<double>(disk.in_flight));
  if (disk.depth.count() != 0) {
    points.add("depth_mean", disk.depth.mean());
    points.add("depth_max", static_cast<double>(disk.depth.max()));
  }
  points.add_if_any("partial_completions", disk.partial);
  points.add_if_any("requeued", disk.requeued);
  points.add_if_any("untracked", disk.untracked);
  points.add_if_any("unmatched", disk.unmatched);
  points.add_if_any("unseen", disk.unseen);
  add_warnings(disk, said_[index], sample);
}

void BpfObserver::add_groups(const std::vector<ProbedDisk>& groups, std::int64_t now_ns,
                             ObserverSample& sample) const {
  for (const auto& group : groups) {
    std::uint64_t ops = 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < kProbeOperations; ++i) {
      const auto& operation = group.operations[i];
      ops += operation.count;
      bytes += operation.bytes;
      if (!ours_.rows || operation.count + operation.errors == 0) continue;
      auto row = operation_row(group, static_cast<ProbeOperation>(i), last_ns_, now_ns);
      row.source += " (" + group.group + ")";
      sample.rows.push_back(std::move(row));
    }
    DiskPoints points(group, now_ns, sample);
    points.add(group.group + "_ops", static_cast<double>(ops));
    points.add(group.group + "_bytes", static_cast<double>(bytes));
  }
}

void BpfObserver::add_warnings(const ProbedDisk& disk, Said& said, ObserverSample& sample) const {
  if (disk.no_start_time != 0 && !std::exchange(said.iostats_off, true)) {
    sample.warnings.push_back(
        {"iostats-off", fmt::format("The kernel keeps no queue times of {0}, so that only driver "
                                    "time (D2C) is known: echo 1 > /sys/block/{0}/queue/iostats",
                                    disk.name)});
  }
  const auto untimed = disk.untracked + (first_ ? 0 : disk.unmatched);
  if (untimed + disk.unseen != 0 && !std::exchange(said.lost, true)) {
    sample.warnings.push_back(
        {"observer-lost",
         fmt::format("In one interval {} requests of {} got no driver time, as their issue wasn't "
                     "seen or found no place, and {} completions were missed; the series "
                     "\"untracked\", \"unmatched\" and \"unseen\" have them all.",
                     untimed, disk.name, disk.unseen)});
  }
  if (has_gone(roots_.sys / "block" / disk.name) && !std::exchange(said.gone, true)) {
    sample.warnings.push_back(
        {"device-vanished",
         fmt::format("{} went away during the run; its series ends there.", disk.name)});
  }
}

void BpfObserver::add_cost(std::int64_t now_ns, ObserverSample& sample) {
  const auto cost = probe_->cost();
  const auto runs = static_cast<double>(cost.runs - last_cost_.runs);
  const auto time_ns = static_cast<double>(cost.time_ns - last_cost_.time_ns);
  const auto missed = cost.missed - last_cost_.missed;
  const auto add = [&](const char* name, double value) {
    sample.points.push_back({"observer", name, now_ns, value});
  };
  add("runs", runs);
  add("time_ns", time_ns);
  if (missed != 0) {
    add("missed", static_cast<double>(missed));
    sample.warnings.push_back(
        {"observer-lost",
         "The observer's program was interrupted by itself and skipped events; "
         "how many is in the series \"missed\" of \"observer\"."});
  }
  last_cost_ = cost;
}

Json BpfObserver::describe() const {
  Json devices = Json::array();
  for (const auto& disk : disks_) {
    devices.push_back({{"name", disk.name},
                       {"followed_by", disk.bio_based ? "bios" : "requests"},
                       {"latency", disk.bio_based ? "q2c" : "d2c, q2c"}});
  }
  Json described = {
      {"method", "eBPF on the kernel's block events"},
      {"latency",
       "histograms of driver to complete (D2C) and queue to complete (Q2C), 1.6 % at most off"},
      {"resolution_ns", 4},
      {"unseen", {"the D2C of bio-based devices", "latency of partitions apart from their disk"}},
      {"devices", devices}};
  const Json statistics = statistics_.describe();
  if (!statistics["devices"].empty()) described["by_block_statistics"] = statistics["devices"];
  return described;
}

}  // namespace plimsoll
