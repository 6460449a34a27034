#include "rawio/device/health_change.h"

#include <fmt/format.h>

#include "rawio/device/json_optional.h"

namespace plimsoll {
namespace {

constexpr std::uint64_t kAmplificationFrom_bytes = 1ull << 30;

std::optional<std::uint64_t> grown(const std::optional<std::uint64_t>& before,
                                   const std::optional<std::uint64_t>& after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}

}  // namespace

HealthChange health_change(const DriveHealth& before, const DriveHealth& after) {
  HealthChange change;
  change.host_read_bytes = grown(before.read_bytes, after.read_bytes);
  change.host_written_bytes = grown(before.written_bytes, after.written_bytes);
  change.media_written_bytes = grown(before.media_written_bytes, after.media_written_bytes);
  change.media_errors = grown(before.media_errors, after.media_errors);
  change.throttled_seconds = grown(before.throttled_seconds, after.throttled_seconds);
  if (change.media_written_bytes &&
      change.host_written_bytes.value_or(0) >= kAmplificationFrom_bytes) {
    change.write_amplification = static_cast<double>(*change.media_written_bytes) /
                                 static_cast<double>(*change.host_written_bytes);
  }
  return change;
}

Json to_json(const HealthChange& change) {
  return {{"host_read_bytes", or_null(change.host_read_bytes)},
          {"host_written_bytes", or_null(change.host_written_bytes)},
          {"media_written_bytes", or_null(change.media_written_bytes)},
          {"media_errors", or_null(change.media_errors)},
          {"throttled_seconds", or_null(change.throttled_seconds)},
          {"write_amplification", or_null(change.write_amplification)}};
}

std::string concerns(const HealthChange& change) {
  std::string text;
  if (change.media_errors.value_or(0) > 0) {
    text = fmt::format("new media errors: {}", *change.media_errors);
  }
  if (change.throttled_seconds.value_or(0) > 0) {
    text += fmt::format("{}throttled by heat for {} s", text.empty() ? "" : "; ",
                        *change.throttled_seconds);
  }
  return text;
}

}  // namespace plimsoll
