// What the whole machine did in each interval: pressure, processors, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// Points of each interval, in its sample: source "psi" (some_avg10_pct, full_avg10_pct, some_pct,
// full_pct: of the interval itself), "cpu" (user_pct, system_pct, iowait_pct, steal_pct of all
// processors together: 100 is the whole machine; self_user_pct, self_system_pct of this process on
// the same scale), "memory" (dirty_bytes, writeback_bytes, available_bytes). Used by one thread.
class SystemSampler {
 public:
  explicit SystemSampler(const SystemRoots& roots = {}) : roots_(roots) {}

  void start(std::int64_t now_ns);
  ObserverSample sample(std::int64_t now_ns);

 private:
  struct Reading {
    std::optional<IoPressure> pressure;
    std::optional<CpuTicks> cpu;
    std::int64_t self_user_us = 0;
    std::int64_t self_system_us = 0;
    std::int64_t at_ns = 0;
  };
  Reading read(std::int64_t now_ns) const;

  SystemRoots roots_;
  Reading last_;
};

}  // namespace plimsoll
