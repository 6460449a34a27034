#include "results/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "results/base/error.h"

namespace plimsoll {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024;
constexpr Unit kSizeUnits[] = {
    {"", 1},         {"b", 1},        {"k", kKi},      {"kb", kKi},     {"kib", kKi},
    {"m", 0x1p20},   {"mb", 0x1p20},  {"mib", 0x1p20}, {"g", 0x1p30},   {"gb", 0x1p30},
    {"gib", 0x1p30}, {"t", 0x1p40},   {"tb", 0x1p40},  {"tib", 0x1p40}, {"p", 0x1p50},
    {"pb", 0x1p50},  {"pib", 0x1p50}, {"e", 0x1p60},   {"eb", 0x1p60},  {"eib", 0x1p60},
};
constexpr Unit kDurationUnits[] = {
    {"", 1e9},   {"ns", 1},     {"us", 1e3},   {"ms", 1e6},    {"s", 1e9},
    {"m", 6e10}, {"min", 6e10}, {"h", 3.6e12}, {"d", 8.64e13},
};
constexpr Unit kRateUnits[] = {
    {"", 1},    {"/s", 1},    {"/m", 1.0 / 60},  {"/min", 1.0 / 60},
    {"k", 1e3}, {"k/s", 1e3}, {"k/m", 1e3 / 60}, {"k/min", 1e3 / 60},
    {"m", 1e6}, {"m/s", 1e6}, {"m/m", 1e6 / 60}, {"m/min", 1e6 / 60},
};

// "1.5 KiB" taken apart: digits with at most one point, then a unit of the table.
struct Quantity {
  std::optional<std::uint64_t> whole;  // the number, when it has no point and fits
  double number = 0;
  double factor = 1;
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a')
                                          : static_cast<char>(letter);
  });
  return result;
}

std::optional<Quantity> parse(std::string_view text, std::span<const Unit> units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  std::string_view rest = text.substr(digits);
  if (rest.size() > 1 && rest.front() == ' ') rest.remove_prefix(1);

  Quantity quantity;
  const char* end = number.data() + number.size();
  const auto parsed =
      std::from_chars(number.data(), end, quantity.number, std::chars_format::fixed);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  std::uint64_t whole = 0;
  const auto exact = std::from_chars(number.data(), end, whole);
  if (exact.ec == std::errc() && exact.ptr == end) quantity.whole = whole;

  const std::string unit = lower(rest);
  const auto found = std::find_if(units.begin(), units.end(),
                                  [&](const Unit& known) { return known.name == unit; });
  if (found == units.end()) return std::nullopt;
  quantity.factor = found->factor;
  return quantity;
}

// number x factor: exact when the number is whole, else rounded; nothing when over `limit`.
std::optional<std::uint64_t> product(const Quantity& quantity, std::uint64_t limit) {
  const auto factor = static_cast<std::uint64_t>(quantity.factor);
  if (quantity.whole) {
    if (*quantity.whole > limit / factor) return std::nullopt;
    return *quantity.whole * factor;
  }
  const double value = std::round(quantity.number * quantity.factor);
  if (value >= static_cast<double>(limit)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

[[noreturn]] void refuse(std::string_view kind, std::string_view text, std::string_view examples) {
  throw UsageError(fmt::format("\"{}\" is not a {}; write {}", text, kind, examples));
}

// Three significant digits without a point that nothing follows: 1.5, 14.1, 512, 1020.
std::string three_digits(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals == 0) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// The first unit in which the value, as it will be printed, stays below the next one.
std::string scaled(double value, std::span<const std::string_view> names, double step) {
  std::size_t unit = 0;
  while (unit + 1 < names.size() && std::round(value) >= step) {
    value /= step;
    ++unit;
  }
  return three_digits(value) + " " + std::string(names[unit]);
}

// "2 h 05 m", and "2 h" when nothing is left over.
std::string two_units(std::int64_t value, std::int64_t per, char big, char small) {
  const std::int64_t rest = value % per;
  return rest == 0 ? fmt::format("{} {}", value / per, big)
                   : fmt::format("{} {} {:02} {}", value / per, big, rest, small);
}

}  // namespace

std::uint64_t parse_size_bytes(std::string_view text) {
  const auto quantity = parse(text, kSizeUnits);
  const auto bytes = quantity ? product(*quantity, INT64_MAX) : std::nullopt;
  if (!bytes) refuse("size", text, "4k, 16KiB, 1g or 512 (bytes; at most 8 EiB)");
  return *bytes;
}

std::int64_t parse_duration_ns(std::string_view text) {
  const auto quantity = parse(text, kDurationUnits);
  const auto ns = quantity ? product(*quantity, INT64_MAX) : std::nullopt;
  if (!ns) refuse("duration", text, "500ms, 30s, 5m or 24h (a bare number is seconds)");
  return static_cast<std::int64_t>(*ns);
}

double parse_rate_per_s(std::string_view text) {
  const auto quantity = parse(text, kRateUnits);
  const double rate = quantity ? quantity->number * quantity->factor : 0;
  if (!(rate > 0) || !std::isfinite(rate)) {
    refuse("rate above 0", text, "2000/s, 1.5k/s or 120/m (a bare number is per second)");
  }
  return rate;
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::string_view kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(static_cast<double>(bytes), kNames, 1024);
}

std::string format_duration(std::int64_t ns) {
  constexpr std::string_view kNames[] = {"ns", "us", "ms", "s"};
  constexpr double kMinute_ns = 6e10;
  constexpr double kPrintsAsMinute_ns = 59.95e9;
  if (ns == 0) return "0 s";
  const double length_ns = std::abs(static_cast<double>(ns));
  const std::string sign = ns < 0 ? "-" : "";
  if (length_ns < kPrintsAsMinute_ns) return sign + scaled(length_ns, kNames, 1000);
  const std::int64_t seconds = std::llround(length_ns / 1e9);
  if (seconds < 3600) return sign + two_units(seconds, 60, 'm', 's');
  const std::int64_t minutes = std::llround(length_ns / kMinute_ns);
  if (minutes < 48 * 60) return sign + two_units(minutes, 60, 'h', 'm');
  return sign + two_units(std::llround(length_ns / 3.6e12), 24, 'd', 'h');
}

std::string format_count(double value) {
  constexpr std::string_view kNames[] = {"K", "M", "G", "T"};
  if (!std::isfinite(value)) return "n/a";
  const std::string sign = value < 0 ? "-" : "";
  const double size = std::abs(value);
  if (size < 999.5) return sign + three_digits(size);
  if (size < 9999.5) return sign + format_thousands(static_cast<std::uint64_t>(std::llround(size)));
  return sign + scaled(size / 1000, kNames, 1000);
}

std::string format_thousands(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

}  // namespace plimsoll
