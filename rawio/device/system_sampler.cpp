#include "rawio/device/system_sampler.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace plimsoll {

namespace {

// The number after KEY= in a line of /proc/pressure.
template <typename Number>
std::optional<Number> value_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return {};
  const auto rest = line.substr(at + key.size());
  return parse_number<Number>(rest.substr(0, rest.find(' ')));
}

std::string_view line_of(std::string_view text, std::string_view start) {
  const auto at = text.find(start);
  if (at == std::string_view::npos) return {};
  const auto rest = text.substr(at);
  return rest.substr(0, rest.find('\n'));
}

class Points {
 public:
  Points(ObserverSample& sample, std::string source, std::int64_t at_ns)
      : sample_(sample), source_(std::move(source)), at_ns_(at_ns) {}
  void add(const char* name, double value) {
    sample_.points.push_back({source_, name, at_ns_, value});
  }

 private:
  ObserverSample& sample_;
  std::string source_;
  std::int64_t at_ns_;
};

void add_pressure(const IoPressure& before, const IoPressure& now, double span_us, Points points) {
  points.add("some_avg10_pct", now.some_avg10_pct);
  points.add("full_avg10_pct", now.full_avg10_pct);
  if (span_us <= 0) return;
  const auto share = [&](std::uint64_t from_us, std::uint64_t to_us) {
    return 100.0 * static_cast<double>(to_us - from_us) / span_us;
  };
  points.add("some_pct", share(before.some_total_us, now.some_total_us));
  points.add("full_pct", share(before.full_total_us, now.full_total_us));
}

void add_cpu(const CpuTicks& before, const CpuTicks& now, Points points) {
  // The kernel's idle and iowait may step back by a tick; a span without ticks has no share.
  if (now.all() <= before.all()) return;
  const double span = static_cast<double>(now.all() - before.all());
  const auto add = [&](const char* name, std::uint64_t CpuTicks::*field) {
    const double ticks = static_cast<double>(now.*field) - static_cast<double>(before.*field);
    points.add(name, std::max(0.0, 100.0 * ticks / span));
  };
  add("user_pct", &CpuTicks::user);
  add("system_pct", &CpuTicks::system);
  add("iowait_pct", &CpuTicks::io_wait);
  add("steal_pct", &CpuTicks::stolen);
}

void add_memory(std::string_view meminfo, Points points) {
  const std::pair<const char*, std::string_view> rows[] = {{"dirty_bytes", "Dirty"},
                                                           {"writeback_bytes", "Writeback"},
                                                           {"available_bytes", "MemAvailable"}};
  for (const auto& [name, key] : rows) {
    if (const auto bytes = meminfo_bytes(meminfo, key)) {
      points.add(name, static_cast<double>(*bytes));
    }
  }
}

std::int64_t microseconds(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
}

}  // namespace

std::optional<IoPressure> parse_io_pressure(std::string_view text) {
  const auto some = line_of(text, "some ");
  const auto full = line_of(text, "full ");
  const auto some_avg = value_after<double>(some, "avg10=");
  const auto some_total = value_after<std::uint64_t>(some, "total=");
  const auto full_avg = value_after<double>(full, "avg10=");
  const auto full_total = value_after<std::uint64_t>(full, "total=");
  if (!some_avg || !some_total || !full_avg || !full_total) return {};
  return IoPressure{*some_avg, *full_avg, *some_total, *full_total};
}

std::optional<CpuTicks> parse_cpu_ticks(std::string_view stat_text) {
  const auto words = split_words(line_of(stat_text, "cpu "));
  if (words.size() < 9) return {};
  std::uint64_t fields[9] = {};
  for (std::size_t index = 1; index < 9; ++index) {
    const auto ticks = parse_number<std::uint64_t>(words[index]);
    if (!ticks) return {};
    fields[index] = *ticks;
  }
  return CpuTicks{.user = fields[1] + fields[2],
                  .system = fields[3] + fields[6] + fields[7],
                  .idle = fields[4],
                  .io_wait = fields[5],
                  .stolen = fields[8]};
}

std::optional<std::uint64_t> meminfo_bytes(std::string_view text, std::string_view key) {
  const auto words = split_words(line_of(text, fmt::format("{}:", key)));
  if (words.size() < 2) return {};
  const auto kib = parse_number<std::uint64_t>(words[1]);
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

// After the name in parentheses, which may hold blanks and parentheses itself.
std::optional<ProcessTicks> parse_process_ticks(std::string_view stat_text) {
  const auto name_end = stat_text.rfind(')');
  if (name_end == std::string_view::npos) return {};
  const auto words = split_words(stat_text.substr(name_end + 1));
  constexpr std::size_t kUser = 11;  // then system, and both of the children waited for
  if (words.size() < kUser + 4) return {};
  std::uint64_t fields[4] = {};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto ticks = parse_number<std::uint64_t>(words[kUser + i]);
    if (!ticks) return {};
    fields[i] = *ticks;
  }
  return ProcessTicks{fields[0] + fields[2], fields[1] + fields[3]};
}

ProcessTicks SystemSampler::read_processes() {
  ProcessTicks sum;
  std::erase_if(processes_, [&](int process) {
    const auto ticks =
        parse_process_ticks(read_text(roots_.proc / std::to_string(process) / "stat").value_or(""));
    if (!ticks) return true;
    sum.user += ticks->user;
    sum.system += ticks->system;
    return false;
  });
  return sum;
}

std::optional<std::uint64_t> SystemSampler::read_throttle_events() const {
  std::optional<std::uint64_t> sum;
  std::error_code none;
  for (const auto& cpu :
       std::filesystem::directory_iterator(roots_.sys / "devices/system/cpu", none)) {
    const auto events =
        read_number<std::uint64_t>(cpu.path() / "thermal_throttle/core_throttle_count");
    if (events) sum = sum.value_or(0) + *events;
  }
  return sum;
}

// hwmonN has a name and files tempM_input in thousandths of a degree.
void SystemSampler::add_temperatures(std::int64_t now_ns, ObserverSample& sample) const {
  std::error_code none;
  for (const auto& chip : std::filesystem::directory_iterator(roots_.sys / "class/hwmon", none)) {
    const auto name = read_line(chip.path() / "name");
    if (!name) continue;
    for (int sensor = 1; sensor <= 8; ++sensor) {
      const auto thousandths =
          read_number<std::int64_t>(chip.path() / fmt::format("temp{}_input", sensor));
      if (!thousandths) continue;
      sample.points.push_back({"temperature", fmt::format("{}_{}", *name, sensor), now_ns,
                               static_cast<double>(*thousandths) / 1000});
    }
  }
}

SystemSampler::Reading SystemSampler::read(std::int64_t now_ns) {
  Reading reading;
  reading.pressure = parse_io_pressure(read_text(roots_.proc / "pressure/io").value_or(""));
  reading.cpu = parse_cpu_ticks(read_text(roots_.proc / "stat").value_or(""));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  reading.self_user_us = microseconds(usage.ru_utime);
  reading.self_system_us = microseconds(usage.ru_stime);
  reading.processes = read_processes();
  reading.throttle_events = read_throttle_events();
  reading.at_ns = now_ns;
  return reading;
}

void SystemSampler::start(std::int64_t now_ns) {
  last_ = read(now_ns);
}

void SystemSampler::add_own_time(const Reading& now, ObserverSample& sample) const {
  const double machine_us = static_cast<double>(now.at_ns - last_.at_ns) / 1000.0 *
                            static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  Points points(sample, "cpu", now.at_ns);
  const auto add = [&](const char* name, double used_us) {
    points.add(name, std::max(0.0, 100.0 * used_us / machine_us));
  };
  add("self_user_pct", static_cast<double>(now.self_user_us - last_.self_user_us));
  add("self_system_pct", static_cast<double>(now.self_system_us - last_.self_system_us));
  if (processes_.empty()) return;
  const double tick_us = 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto ticks = [](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to) - static_cast<double>(from);
  };
  add("processes_user_pct", tick_us * ticks(last_.processes.user, now.processes.user));
  add("processes_system_pct", tick_us * ticks(last_.processes.system, now.processes.system));
}

ObserverSample SystemSampler::sample(std::int64_t now_ns) {
  ObserverSample sample;
  const Reading now = read(now_ns);
  const double span_us = static_cast<double>(now_ns - last_.at_ns) / 1000.0;
  if (now.pressure && last_.pressure) {
    add_pressure(*last_.pressure, *now.pressure, span_us, Points(sample, "psi", now_ns));
  }
  if (now.cpu && last_.cpu) add_cpu(*last_.cpu, *now.cpu, Points(sample, "cpu", now_ns));
  if (span_us > 0) add_own_time(now, sample);
  if (now.throttle_events && last_.throttle_events) {
    Points(sample, "cpu", now_ns)
        .add("throttle_events", static_cast<double>(*now.throttle_events) -
                                    static_cast<double>(*last_.throttle_events));
  }
  add_temperatures(now_ns, sample);
  add_memory(read_text(roots_.proc / "meminfo").value_or(""), Points(sample, "memory", now_ns));
  last_ = now;
  return sample;
}

}  // namespace plimsoll
