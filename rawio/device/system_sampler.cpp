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

SystemSampler::Reading SystemSampler::read(std::int64_t now_ns) const {
  Reading reading;
  reading.pressure = parse_io_pressure(read_text(roots_.proc / "pressure/io").value_or(""));
  reading.cpu = parse_cpu_ticks(read_text(roots_.proc / "stat").value_or(""));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  reading.self_user_us = microseconds(usage.ru_utime);
  reading.self_system_us = microseconds(usage.ru_stime);
  reading.at_ns = now_ns;
  return reading;
}

void SystemSampler::start(std::int64_t now_ns) {
  last_ = read(now_ns);
}

ObserverSample SystemSampler::sample(std::int64_t now_ns) {
  ObserverSample sample;
  const Reading now = read(now_ns);
  const double span_us = static_cast<double>(now_ns - last_.at_ns) / 1000.0;
  if (now.pressure && last_.pressure) {
    add_pressure(*last_.pressure, *now.pressure, span_us, Points(sample, "psi", now_ns));
  }
  if (now.cpu && last_.cpu) add_cpu(*last_.cpu, *now.cpu, Points(sample, "cpu", now_ns));
  if (span_us > 0) {
    const double machine_us = span_us * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    Points self(sample, "cpu", now_ns);
    self.add("self_user_pct",
             100.0 * static_cast<double>(now.self_user_us - last_.self_user_us) / machine_us);
    self.add("self_system_pct",
             100.0 * static_cast<double>(now.self_system_us - last_.self_system_us) / machine_us);
  }
  add_memory(read_text(roots_.proc / "meminfo").value_or(""), Points(sample, "memory", now_ns));
  last_ = now;
  return sample;
}

}  // namespace plimsoll
