// Sizes, durations and rates as users write and read them. Always the C locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

inline constexpr std::int64_t kSecond_ns = 1'000'000'000;
inline constexpr std::uint64_t kMiB = 1 << 20;

// "4k", "16KiB", "1g", "512": powers of 1024, case-insensitive, at most 2^63-1 bytes.
// Throws UsageError naming the text and what would parse.
std::uint64_t parse_size_bytes(std::string_view text);

// "500ms", "30s", "5m", "24h", "250us", "100ns"; a bare number is seconds. Fractions allowed
// ("1.5s"). At most 292 years. Throws UsageError.
std::int64_t parse_duration_ns(std::string_view text);

// "2000/s", "0.5/s", "120/m", "1.5k/s" (k = 1000); a bare number is per second. Result is per
// second, finite and > 0. Throws UsageError.
double parse_rate_per_s(std::string_view text);

std::string format_size(std::uint64_t bytes);       // "1.5 GiB", three significant digits
std::string format_duration(std::int64_t ns);       // "83 us", "1.25 s", "2 h 05 m"
std::string format_count(double value);             // "14.1 K", "1,850", "3.2 M"
std::string format_thousands(std::uint64_t value);  // "48,210,332"

}  // namespace plimsoll
