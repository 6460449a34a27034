#include "results/record/environment.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\n\"");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n\"") - begin + 1);
}

// What follows `key` and a separator in a file of lines such as "MemTotal:  24 kB" or NAME="x".
std::optional<std::string> line_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto separator = line.find_first_of(":=");
    if (separator == std::string::npos || trimmed(line.substr(0, separator)) != key) continue;
    return trimmed(line.substr(separator + 1));
  }
  return std::nullopt;
}

Json text_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || trimmed(line).empty()) return nullptr;
  return trimmed(line);
}

Json text_of(const char* path, const char* key) {
  const auto value = line_value(path, key);
  return value && !value->empty() ? Json(*value) : Json(nullptr);
}

Json memory_bytes(const char* key) {
  const auto value = line_value("/proc/meminfo", key);
  if (!value) return nullptr;
  return std::strtoull(value->c_str(), nullptr, 10) * 1024;  // the file's unit is kB
}

Json limit(int resource) {
  rlimit value{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &value) != 0) return nullptr;
  return value.rlim_cur == RLIM_INFINITY ? Json("unlimited") : Json(value.rlim_cur);
}

Json load_averages() {
  std::array<double, 3> loads{};
  if (getloadavg(loads.data(), 3) != 3) return nullptr;
  return loads;
}

// The hypervisor by its firmware's or its own name; null on metal.
Json virtualisation() {
  const Json vendor = text_of("/sys/class/dmi/id/sys_vendor");
  const auto flags = line_value("/proc/cpuinfo", "flags");
  const bool hypervisor = flags && (" " + *flags + " ").find(" hypervisor ") != std::string::npos;
  if (!hypervisor) return nullptr;
  const Json clock = text_of("/sys/devices/system/clocksource/clocksource0/available_clocksource");
  if (clock.is_string() && clock.get<std::string>().find("kvm-clock") != std::string::npos) {
    return "kvm";
  }
  return vendor.is_string() ? vendor : Json("hypervisor");
}

// A container shares the kernel and may have a part of the processors and memory only.
Json container() {
  if (access("/.dockerenv", F_OK) == 0) return "docker";
  if (access("/run/.containerenv", F_OK) == 0) return "podman";
  return text_of("/run/systemd/container");
}

Json pressure(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return nullptr;
  const auto at = line.find("avg10=");
  if (at == std::string::npos) return nullptr;
  return std::strtod(line.c_str() + at + 6, nullptr);
}

Json kernel() {
  utsname names{};
  if (uname(&names) != 0) return nullptr;
  return {{"release", names.release}, {"version", names.version}, {"architecture", names.machine}};
}

Json host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? Json(name.data()) : Json(nullptr);
}

Json processor() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return {{"model", text_of("/proc/cpuinfo", "model name")},
          {"online", online > 0 ? Json(online) : Json(nullptr)},
          {"governor", text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
          {"smt_active", text_of("/sys/devices/system/cpu/smt/active")}};
}

}  // namespace

nlohmann::ordered_json capture_machine() {
  return {
      {"host", host_name()},
      {"cpu", processor()},
      {"memory_bytes", memory_bytes("MemTotal")},
      {"memory_available_bytes", memory_bytes("MemAvailable")},
      {"swap_bytes", memory_bytes("SwapTotal")},
      {"os", text_of("/etc/os-release", "PRETTY_NAME")},
      {"kernel", kernel()},
      {"clocksource", text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource")},
      {"virtualisation", virtualisation()},
      {"container", container()},
      {"load_average", load_averages()},
      {"pressure_some_pct",
       {{"cpu", pressure("/proc/pressure/cpu")}, {"io", pressure("/proc/pressure/io")}}},
      {"limits",
       {{"locked_memory_bytes", limit(RLIMIT_MEMLOCK)}, {"open_files", limit(RLIMIT_NOFILE)}}},
      {"user_id", geteuid()}};
}

}  // namespace plimsoll
