// What the whole machine did in each interval: pressure, processors, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rawio/device/observer.h"

namespace plimsoll {

// Pressure on I/O: the share of time in which tasks (some, or all that weren't idle: full) waited.
// Averages are the kernel's of the last 10 s in percent; totals are in us since boot.
struct IoPressure {
  double some_avg10_pct = 0;
  double full_avg10_pct = 0;
  std::uint64_t some_total_us = 0;
  std::uint64_t full_total_us = 0;
};
std::optional<IoPressure> parse_io_pressure(std::string_view text);

// Ticks of all processors since boot, as /proc/stat's first line has them.
struct CpuTicks {
  std::uint64_t user = 0;    // nice included
  std::uint64_t system = 0;  // interrupts included
  std::uint64_t idle = 0;
  std::uint64_t io_wait = 0;
  std::uint64_t stolen = 0;  // by the host of a virtual machine
  std::uint64_t all() const { return user + system + idle + io_wait + stolen; }
};
std::optional<CpuTicks> parse_cpu_ticks(std::string_view stat_text);

// In bytes, from /proc/meminfo; nothing when the key is absent.
std::optional<std::uint64_t> meminfo_bytes(std::string_view text, std::string_view key);

// User and system ticks of a process and the children it has waited for, as /proc/PID/stat has
// them.
struct ProcessTicks {
  std::uint64_t user = 0;
  std::uint64_t system = 0;
};
std::optional<ProcessTicks> parse_process_ticks(std::string_view stat_text);

// Points of each interval, in its sample: source "psi" (some_avg10_pct, full_avg10_pct, some_pct,
// full_pct: of the interval itself), "cpu" (user_pct, system_pct, iowait_pct, steal_pct of all
// processors together: 100 is the whole machine; self_user_pct, self_system_pct of this process on
// the same scale; processes_user_pct, processes_system_pct of those followed; throttle_events of
// all cores), "memory" (dirty_bytes, writeback_bytes, available_bytes), "temperature" (celsius of
// what the kernel has a sensor for: nvme_1, drivetemp_1, coretemp_1). Used by one thread.
class SystemSampler {
 public:
  explicit SystemSampler(const SystemRoots& roots = {}) : roots_(roots) {}

  // To be called before start(): a database's, say. One that ends is left out from then on.
  void follow(std::vector<int> processes) { processes_ = std::move(processes); }

  void start(std::int64_t now_ns);
  ObserverSample sample(std::int64_t now_ns);

 private:
  struct Reading {
    std::optional<IoPressure> pressure;
    std::optional<CpuTicks> cpu;
    std::int64_t self_user_us = 0;
    std::int64_t self_system_us = 0;
    ProcessTicks processes;
    std::optional<std::uint64_t> throttle_events;
    std::int64_t at_ns = 0;
  };
  Reading read(std::int64_t now_ns);
  ProcessTicks read_processes();
  std::optional<std::uint64_t> read_throttle_events() const;
  void add_own_time(const Reading& now, ObserverSample& sample) const;
  void add_temperatures(std::int64_t now_ns, ObserverSample& sample) const;

  SystemRoots roots_;
  std::vector<int> processes_;
  Reading last_;
};

}  // namespace plimsoll
