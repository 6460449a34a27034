#include "rawio/workload/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "results/base/error.h"

namespace plimsoll {
namespace {

struct SpreadName {
  const char* name;
  SpreadKind kind;
  double preset;  // of the parameter; 0: none
};
constexpr SpreadName kSpreadNames[] = {{"random", SpreadKind::kUniform, 0},
                                       {"zipf", SpreadKind::kZipf, 1.1},
                                       {"pareto", SpreadKind::kPareto, 0.2},
                                       {"normal", SpreadKind::kNormal, 20},
                                       {"zoned", SpreadKind::kZoned, 0}};

[[noreturn]] void refuse_spread(const std::string& text, const char* why) {
  throw UsageError(
      fmt::format("distribution {}: {}; it takes random, zipf:1.1, pareto:0.2, "
                  "normal:20 or zoned:60/10:40/90",
                  text, why));
}

double spread_number(const std::string& part, const std::string& text) {
  double value = 0;
  const auto* end = part.data() + part.size();
  const auto read = std::from_chars(part.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) refuse_spread(text, "not a number");
  return value;
}

std::vector<std::string> split_at(const std::string& text, char mark) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (auto end = text.find(mark); end != std::string::npos; end = text.find(mark, start)) {
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::vector<Zone> parse_zones(const std::string& list, const std::string& text) {
  std::vector<Zone> zones;
  double accesses = 0;
  double sizes = 0;
  for (const auto& part : split_at(list, ':')) {
    const auto numbers = split_at(part, '/');
    if (numbers.size() != 2) refuse_spread(text, "a zone is ACCESS%/SIZE%");
    zones.push_back({spread_number(numbers[0], text), spread_number(numbers[1], text)});
    if (!(zones.back().access_percent >= 0 && zones.back().size_percent > 0)) {
      refuse_spread(text, "a zone has a size, and no negative share");
    }
    accesses += zones.back().access_percent;
    sizes += zones.back().size_percent;
  }
  if (std::abs(accesses - 100) > 0.01) refuse_spread(text, "the accesses must add up to 100 %");
  if (std::abs(sizes - 100) > 0.01) refuse_spread(text, "the sizes must add up to 100 %");
  return zones;
}

void check_parameter(const Spread& spread, const std::string& text) {
  const double value = spread.parameter;
  switch (spread.kind) {
    case SpreadKind::kZipf:
      if (!(value > 0 && value <= 10)) refuse_spread(text, "zipf's theta is over 0, up to 10");
      break;
    case SpreadKind::kPareto:
      if (!(value > 0 && value < 0.5)) refuse_spread(text, "pareto's h is between 0 and 0.5");
      break;
    case SpreadKind::kNormal:
      if (!(value > 0 && value <= 100)) refuse_spread(text, "normal's deviation is 0 to 100 %");
      break;
    default:
      break;
  }
}

std::uint64_t word_below(double share) {
  return share >= 1 ? UINT64_MAX : static_cast<std::uint64_t>(share * 0x1p64);
}

// In (0, 1], 53 bits. Enough for 2^53 blocks, 2^62 bytes in sectors of 512.
double unit(Random& random) noexcept {
  return (static_cast<double>(random.next() >> 11) + 1) * 0x1p-53;
}

// The integral of x^-theta up to a constant, and its inverse; exact also near theta = 1.
double zipf_integral(double x, double theta) noexcept {
  const double logarithm = std::log(x);
  const double scaled = (1 - theta) * logarithm;
  return (std::abs(scaled) > 1e-8 ? std::expm1(scaled) / scaled : 1 + scaled / 2) * logarithm;
}
double zipf_inverse(double integral, double theta) noexcept {
  const double scaled = std::max(-1.0, integral * (1 - theta));
  return std::exp((std::abs(scaled) > 1e-8 ? std::log1p(scaled) / scaled : 1 - scaled / 2) *
                  integral);
}

}  // namespace

Spread parse_spread(const std::string& text) {
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  const auto* row = std::find_if(std::begin(kSpreadNames), std::end(kSpreadNames),
                                 [&](const SpreadName& known) { return name == known.name; });
  if (row == std::end(kSpreadNames)) refuse_spread(text, "no such name");
  Spread spread{row->kind, row->preset};
  if (spread.kind == SpreadKind::kZoned) {
    if (colon == std::string::npos) refuse_spread(text, "zones are missing");
    spread.zones = parse_zones(text.substr(colon + 1), text);
  } else if (colon != std::string::npos) {
    if (spread.kind == SpreadKind::kUniform) refuse_spread(text, "random has no parameter");
    spread.parameter = spread_number(text.substr(colon + 1), text);
  }
  check_parameter(spread, text);
  return spread;
}

std::string describe(const Spread& spread) {
  const auto* row =
      std::find_if(std::begin(kSpreadNames), std::end(kSpreadNames),
                   [&](const SpreadName& known) { return spread.kind == known.kind; });
  std::string text = row->name;
  if (spread.parameter != 0) text += fmt::format(":{:g}", spread.parameter);
  for (const auto& zone : spread.zones) {
    text += fmt::format(":{:g}/{:g}", zone.access_percent, zone.size_percent);
  }
  return text;
}

BlockDraw::BlockDraw(const Spread& spread, std::uint64_t blocks, std::uint64_t key)
    : kind_(spread.kind), parameter_(spread.parameter), blocks_(blocks), places_(blocks, key) {
  if (kind_ == SpreadKind::kZipf) {
    zipf_first_ = zipf_integral(1.5, parameter_) - 1;
    zipf_last_ = zipf_integral(static_cast<double>(blocks) + 0.5, parameter_);
    zipf_shift_ =
        2 - zipf_inverse(zipf_integral(2.5, parameter_) - std::pow(2, -parameter_), parameter_);
  } else if (kind_ == SpreadKind::kPareto) {
    pareto_power_ = std::log(parameter_) / std::log(1 - parameter_);
  } else if (kind_ == SpreadKind::kZoned) {
    set_zones(spread.zones);
  }
}

void BlockDraw::set_zones(const std::vector<Zone>& zones) {
  double accesses = 0;
  double sizes = 0;
  for (const auto& zone : zones) {
    const auto total = static_cast<double>(blocks_);
    auto first = static_cast<std::uint64_t>(total * sizes / 100);
    accesses += zone.access_percent;
    sizes += zone.size_percent;
    const bool last = &zone == &zones.back();
    const auto end = last ? blocks_ : static_cast<std::uint64_t>(total * sizes / 100);
    first = std::min(first, blocks_ - 1);
    ranges_.push_back({last ? UINT64_MAX : word_below(accesses / 100), first,
                       std::max<std::uint64_t>(1, end > first ? end - first : 1)});
  }
}

std::uint64_t BlockDraw::draw(Random& random) noexcept {
  switch (kind_) {
    case SpreadKind::kZipf:
      return places_.at(draw_zipf(random));
    case SpreadKind::kPareto:
      return places_.at(draw_pareto(random));
    case SpreadKind::kNormal:
      return draw_normal(random);
    case SpreadKind::kZoned:
      return draw_zone(random);
    case SpreadKind::kUniform:
      break;
  }
  return random.below(blocks_);
}

// Rejection-inversion (Hoermann and Derflinger 1996): exact for any theta over 0 and any number of
// blocks, with no table of them; over 90 % of the draws are taken at once.
std::uint64_t BlockDraw::draw_zipf(Random& random) const noexcept {
  const auto most = static_cast<double>(blocks_);
  while (true) {
    const double area = zipf_last_ + unit(random) * (zipf_first_ - zipf_last_);
    const double x = zipf_inverse(area, parameter_);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, most);
    if (rank - x <= zipf_shift_ ||
        area >= zipf_integral(rank + 0.5, parameter_) - std::pow(rank, -parameter_)) {
      return std::min(static_cast<std::uint64_t>(rank), blocks_) - 1;
    }
  }
}

std::uint64_t BlockDraw::draw_pareto(Random& random) const noexcept {
  const double share = std::pow(unit(random), pareto_power_);
  return std::min(static_cast<std::uint64_t>(share * static_cast<double>(blocks_)), blocks_ - 1);
}

std::uint64_t BlockDraw::draw_normal(Random& random) const noexcept {
  while (true) {
    const double radius = std::sqrt(-2 * std::log(unit(random)));
    const double deviate = radius * std::cos(2 * std::numbers::pi * unit(random));
    const double share = 0.5 + deviate * parameter_ / 100;
    if (share >= 0 && share < 1) {
      return std::min(static_cast<std::uint64_t>(share * static_cast<double>(blocks_)),
                      blocks_ - 1);
    }
  }
}

std::uint64_t BlockDraw::draw_zone(Random& random) const noexcept {
  const std::uint64_t word = random.next();
  const Range* range = ranges_.data();
  while (word > range->threshold) ++range;
  return range->first + random.below(range->blocks);
}

}  // namespace plimsoll
