// How worn and how hot a drive is, by its own account.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rawio/device/identity.h"

namespace plimsoll {

// What the drive doesn't tell is empty. Counts are since it was made.
struct DriveHealth {
  std::string source;            // "NVMe SMART log", "smartctl"; empty: nothing is known
  std::string unknown_why;       // then: why, and what mends it
  std::optional<bool> failing;   // the drive's own overall verdict
  std::optional<int> used_pct;   // of its rated endurance; may pass 100
  std::optional<int> spare_pct;  // spare blocks left
  std::optional<int> temperature_c;
  std::optional<std::uint64_t> read_bytes;  // by the host
  std::optional<std::uint64_t> written_bytes;
  std::optional<std::uint64_t> media_written_bytes;  // by the drive itself: with its own rewriting
  std::optional<std::uint64_t> media_errors;
  std::optional<std::uint64_t> power_on_hours;
  std::optional<std::uint64_t> unsafe_shutdowns;
  std::optional<std::uint64_t> hot_minutes;        // above its warning temperature
  std::optional<std::uint64_t> throttled_seconds;  // spent in thermal throttling
  bool known() const { return !source.empty(); }
};

// Asks the drive: NVMe through libnvme, SATA and SAS through smartctl where it is installed. Never
// throws; a drive that can't be asked (no root, no tool, not a physical one) says why.
DriveHealth read_health(const BlockDevice& drive);

// The 512 bytes of NVMe's SMART / health information log (page 02h; NVMe base specification).
DriveHealth parse_nvme_smart(std::span<const std::byte, 512> log);

// Bytes written to the medium out of the SMART / health extended log of the OCP's specification for
// data-centre NVMe drives (page C0h); empty for a drive whose page C0h is something else.
std::optional<std::uint64_t> parse_ocp_media_written(std::span<const std::byte, 512> log);

// What `smartctl --json=c -x` printed. Without what is needed: unknown, with smartctl's own words.
DriveHealth parse_smartctl(std::string_view json);

// For the record: numbers or null, {source, unknown_why, …}.
Json to_json(const DriveHealth& health);
// One line: "2 % of endurance used, 41 C, 12.3 TB written, no media errors".
std::string describe(const DriveHealth& health);

// Flash kept from the user, guessed from the capacity: flash comes in powers of two GiB, so a drive
// of 1.92 TB (1788 GiB) has 2048 GiB of it, 14.5 % more than it shows. Percent of the visible size;
// nothing for spinning disks, virtual and memory devices.
std::optional<double> spare_flash_hint_pct(const BlockDevice& drive);

}  // namespace plimsoll
