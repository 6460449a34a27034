// What a run did to a drive, by the drive's own account.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rawio/device/health.h"

namespace plimsoll {

// After minus before; empty what either didn't tell, or what went backwards (another drive, a
// reset).
struct HealthChange {
  std::optional<std::uint64_t> host_read_bytes;
  std::optional<std::uint64_t> host_written_bytes;
  std::optional<std::uint64_t> media_written_bytes;
  std::optional<std::uint64_t> media_errors;
  std::optional<std::uint64_t> throttled_seconds;
  // Written to the medium for each byte of the host; needs a host's write of 1 GiB at least, as
  // drives count in large units.
  std::optional<double> write_amplification;
};

HealthChange health_change(const DriveHealth& before, const DriveHealth& after);

Json to_json(const HealthChange& change);
// "new media errors: 3; throttled for 12 s"; empty when nothing of it is of concern.
std::string concerns(const HealthChange& change);

}  // namespace plimsoll
