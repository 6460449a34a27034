#include "rawio/device/health.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "rawio/device/json_optional.h"

#ifdef PLIMSOLL_NVME
#include <libnvme.h>
#endif

namespace plimsoll {

namespace {

// An NVMe data unit is 1000 sectors of 512 bytes, whatever the drive's sector.
constexpr std::uint64_t kNvmeDataUnit_bytes = 512'000;
constexpr int kZeroCelsius_k = 273;

// Page C0h belongs to the vendors; the OCP's has its identifier at the end, last byte first.
[[maybe_unused]] constexpr int kOcpHealthPage = 0xc0;
constexpr std::array<std::uint8_t, 16> kOcpHealthGuid = {
    0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf};

// ATA attributes of vendors that count what went to the flash, by smartctl's names.
struct FlashAttribute {
  std::string_view name;
  std::uint64_t unit_bytes;
};
constexpr FlashAttribute kFlashAttributes[] = {{"NAND_Writes_1GiB", 1ull << 30},
                                               {"NAND_Writes_32MiB", 32ull << 20},
                                               {"Flash_Writes_GiB", 1ull << 30}};

DriveHealth unknown(std::string why) {
  DriveHealth health;
  health.unknown_why = std::move(why);
  return health;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t index = bytes.size(); index-- > 0;) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[index]);
  }
  return value;
}

DriveHealth read_nvme(const BlockDevice& drive) {
#ifdef PLIMSOLL_NVME
  const int fd = open(drive.node.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return unknown(fmt::format("{}; run as root", std::strerror(errno)));
  std::array<std::byte, 512> log{};
  const int status =
      nvme_get_log_smart(fd, NVME_NSID_ALL, true, reinterpret_cast<nvme_smart_log*>(log.data()));
  const int error = errno;
  if (status == 0) {
    DriveHealth health = parse_nvme_smart(log);
    const auto page = static_cast<nvme_cmd_get_log_lid>(kOcpHealthPage);
    if (nvme_get_log_simple(fd, page, log.size(), log.data()) == 0) {
      health.media_written_bytes = parse_ocp_media_written(log);
    }
    close(fd);
    return health;
  }
  close(fd);
  const bool rights = status < 0 && (error == EACCES || error == EPERM);
  return unknown(status > 0 ? std::string("the drive refuses its health log")
                            : std::string(std::strerror(error)) + (rights ? "; run as root" : ""));
#else
  return unknown("Plimsoll was built without libnvme; build with -DPLIMSOLL_NVME=ON (" +
                 drive.name + ")");
#endif
}

// Its output; nothing when there is no smartctl. Its exit status only repeats what the JSON says.
std::optional<std::string> run_smartctl(const std::string& node) {
  const std::string command =
      "PATH=$PATH:/usr/sbin:/sbin smartctl --json=c -x '" + node + "' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "re"), pclose);
  if (!pipe) return {};
  std::string text;
  char buffer[4096];
  while (const std::size_t got = fread(buffer, 1, sizeof buffer, pipe.get())) {
    text.append(buffer, got);
  }
  if (text.empty()) return {};
  return text;
}

// A number at a JSON pointer.
std::optional<std::uint64_t> number_at(const Json& json, const char* pointer) {
  const Json::json_pointer place(pointer);
  if (!json.contains(place) || !json.at(place).is_number()) return {};
  return json.at(place).get<std::uint64_t>();
}

// An entry of ATA's device statistics log by its name in the standard.
std::optional<std::uint64_t> ata_statistic(const Json& json, std::string_view name) {
  const Json::json_pointer pages("/ata_device_statistics/pages");
  if (!json.contains(pages) || !json.at(pages).is_array()) return {};
  for (const auto& page : json.at(pages)) {
    for (const auto& entry : page.value("table", Json::array())) {
      if (entry.value("name", "") == name && entry.contains("value")) {
        return entry["value"].get<std::uint64_t>();
      }
    }
  }
  return {};
}

std::optional<std::uint64_t> ata_flash_written(const Json& json) {
  const Json::json_pointer table("/ata_smart_attributes/table");
  if (!json.contains(table) || !json.at(table).is_array()) return {};
  for (const auto& row : json.at(table)) {
    for (const auto& known : kFlashAttributes) {
      if (row.value("name", "") != known.name) continue;
      const auto raw = number_at(row, "/raw/value");
      if (raw) return *raw * known.unit_bytes;
    }
  }
  return {};
}

std::optional<int> as_int(std::optional<std::uint64_t> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::string smartctl_words(const Json& json) {
  const Json::json_pointer place("/smartctl/messages/0/string");
  return json.contains(place) ? json.at(place).get<std::string>()
                              : "smartctl can't read this drive; try smartctl -x by hand";
}

DriveHealth from_smartctl(const Json& json) {
  if (!json.contains("smart_status") && !json.contains("temperature")) {
    return unknown(smartctl_words(json));
  }
  const std::uint64_t sector_bytes = number_at(json, "/logical_block_size").value_or(512);
  DriveHealth health;
  health.source = "smartctl";
  const Json::json_pointer passed("/smart_status/passed");
  if (json.contains(passed)) health.failing = !json.at(passed).get<bool>();
  health.temperature_c = as_int(number_at(json, "/temperature/current"));
  health.power_on_hours = number_at(json, "/power_on_time/hours");
  health.used_pct = as_int(ata_statistic(json, "Percentage Used Endurance Indicator"));
  if (!health.used_pct)
    health.used_pct = as_int(number_at(json, "/endurance_used/current_percent"));
  health.media_errors = ata_statistic(json, "Number of Reported Uncorrectable Errors");
  if (const auto sectors = ata_statistic(json, "Logical Sectors Written")) {
    health.written_bytes = *sectors * sector_bytes;
  }
  if (const auto sectors = ata_statistic(json, "Logical Sectors Read")) {
    health.read_bytes = *sectors * sector_bytes;
  }
  health.media_written_bytes = ata_flash_written(json);
  return health;
}

}  // namespace

std::optional<std::uint64_t> parse_ocp_media_written(std::span<const std::byte, 512> log) {
  for (std::size_t i = 0; i < kOcpHealthGuid.size(); ++i) {
    if (std::to_integer<std::uint8_t>(log[496 + i]) != kOcpHealthGuid[i]) return {};
  }
  return little_endian(log.subspan(0, 8));
}

DriveHealth parse_nvme_smart(std::span<const std::byte, 512> log) {
  const auto field = [&](std::size_t at, std::size_t bytes) {
    return little_endian(log.subspan(at, bytes));
  };
  DriveHealth health;
  health.source = "NVMe SMART log";
  health.failing = field(0, 1) != 0;
  health.temperature_c = static_cast<int>(field(1, 2)) - kZeroCelsius_k;
  health.spare_pct = static_cast<int>(field(3, 1));
  health.used_pct = static_cast<int>(field(5, 1));
  // Fields of 128 bits: 64 of them hold a billion times what a drive can do in its life.
  health.read_bytes = field(32, 8) * kNvmeDataUnit_bytes;
  health.written_bytes = field(48, 8) * kNvmeDataUnit_bytes;
  health.power_on_hours = field(128, 8);
  health.unsafe_shutdowns = field(144, 8);
  health.media_errors = field(160, 8);
  health.hot_minutes = field(192, 4);
  health.throttled_seconds = field(224, 4) + field(228, 4);
  return health;
}

DriveHealth parse_smartctl(std::string_view text) {
  try {
    return from_smartctl(Json::parse(text));
  } catch (const Json::exception&) {
    return unknown(
        "smartctl's output isn't the JSON expected; update smartmontools (7.0 or later)");
  }
}

DriveHealth read_health(const BlockDevice& drive) {
  if (drive.kind != LevelKind::kDrive) return unknown("no physical drive");
  const std::string transport = drive.transport.value_or("");
  if (transport.starts_with("nvme")) return read_nvme(drive);
  if (transport == "virtio" || transport == "xen" || transport == "hyper-v") {
    return unknown("a virtual drive has no health of its own");
  }
  if (geteuid() != 0) return unknown("run as root");
  const auto output = run_smartctl(drive.node);
  return output ? parse_smartctl(*output) : unknown("install smartmontools");
}

Json to_json(const DriveHealth& health) {
  return {{"source", health.known() ? Json(health.source) : Json(nullptr)},
          {"unknown_why", health.known() ? Json(nullptr) : Json(health.unknown_why)},
          {"failing", or_null(health.failing)},
          {"used_pct", or_null(health.used_pct)},
          {"spare_pct", or_null(health.spare_pct)},
          {"temperature_c", or_null(health.temperature_c)},
          {"read_bytes", or_null(health.read_bytes)},
          {"written_bytes", or_null(health.written_bytes)},
          {"media_written_bytes", or_null(health.media_written_bytes)},
          {"media_errors", or_null(health.media_errors)},
          {"power_on_hours", or_null(health.power_on_hours)},
          {"unsafe_shutdowns", or_null(health.unsafe_shutdowns)},
          {"hot_minutes", or_null(health.hot_minutes)},
          {"throttled_seconds", or_null(health.throttled_seconds)}};
}

std::string describe(const DriveHealth& health) {
  if (!health.known()) return "unknown: " + health.unknown_why;
  std::vector<std::string> parts;
  if (health.failing == true) parts.push_back("FAILING by its own account");
  if (health.used_pct) parts.push_back(fmt::format("{} % of endurance used", *health.used_pct));
  if (health.temperature_c) parts.push_back(fmt::format("{} C", *health.temperature_c));
  if (health.written_bytes) parts.push_back(format_capacity(*health.written_bytes) + " written");
  if (health.media_errors) parts.push_back(fmt::format("{} media errors", *health.media_errors));
  if (health.throttled_seconds.value_or(0) > 0) {
    parts.push_back(fmt::format("{} s throttled", *health.throttled_seconds));
  }
  if (parts.empty()) parts.push_back("ok by its own account");
  std::string text = parts.front();
  for (std::size_t index = 1; index < parts.size(); ++index) text += ", " + parts[index];
  return text;
}

std::optional<double> spare_flash_hint_pct(const BlockDevice& drive) {
  constexpr std::uint64_t kGiB = 1u << 30;
  const std::string transport = drive.transport.value_or("");
  const bool physical = transport == "nvme" || transport == "sata" || transport == "sas";
  if (!physical || drive.rotational.value_or(true) || drive.size_bytes < kGiB) return {};
  const std::uint64_t flash_bytes = std::bit_ceil(drive.size_bytes / kGiB) * kGiB;
  const double ratio = static_cast<double>(flash_bytes) / static_cast<double>(drive.size_bytes);
  return std::max(0.0, 100.0 * (ratio - 1.0));
}

}  // namespace plimsoll
