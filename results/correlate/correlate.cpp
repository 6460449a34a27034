#include "results/correlate/correlate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "results/correlate/statistics.h"
#include "results/correlate/timeline.h"

namespace plimsoll {

namespace {

constexpr int kMaxLagSeconds = 5;
constexpr double kSignificance = 0.05;

using Values = std::vector<std::optional<double>>;
using Outcome = LaggedCorrelation::Outcome;

Values measured_values(const Timeline& timeline, const TimelineSeries& series) {
  Values values;
  for (std::size_t step = 0; step < timeline.steps(); ++step) {
    if (timeline.measured[step]) values.push_back(series.values[step]);
  }
  return values;
}

std::optional<double> median(const Values& values) {
  std::vector<double> known;
  for (const auto& value : values) {
    if (value) known.push_back(*value);
  }
  if (known.empty()) return std::nullopt;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  return *middle;
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

// What else was seen in that step, with the usual value to compare.
Json beside(const Timeline& timeline, std::size_t step) {
  Json list = Json::array();
  for (const auto& series : timeline.series) {
    if (!series.source.starts_with("device:") || !series.values[step]) continue;
    list.push_back({{"source", series.source},
                    {"name", series.name},
                    {"unit", series.unit},
                    {"value", *series.values[step]},
                    {"median", or_null(median(measured_values(timeline, series)))}});
  }
  return list;
}

struct Worst {
  std::size_t step = 0;    // of the timeline
  std::size_t before = 0;  // measured steps before it
};

Worst find_worst(const Timeline& timeline, const TimelineSeries& tps) {
  std::optional<Worst> worst;
  std::size_t measured = 0;
  for (std::size_t step = 0; step < timeline.steps(); ++step) {
    if (!timeline.measured[step] || !tps.values[step]) continue;
    if (!worst || *tps.values[step] < *tps.values[worst->step]) worst = Worst{step, measured};
    ++measured;
  }
  return worst.value_or(Worst{});
}

std::string steadiness_text(double mean, double deviation, double lowest, double offset_s) {
  const auto spread =
      mean > 0 ? fmt::format("coefficient of variation {:.1f} %; ", deviation / mean * 100) : "";
  return fmt::format("{}{:.0f} TPS at the worst, {:.0f} s in", spread, lowest, offset_s);
}

std::optional<Json> steadiness(const Part& part, const Timeline& timeline) {
  const auto* tps = timeline.find("oltp", "tps");
  if (tps == nullptr) return std::nullopt;
  std::vector<double> values;
  for (const auto& value : measured_values(timeline, *tps)) {
    if (value) values.push_back(*value);
  }
  if (values.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / (count - 1));
  const double step_s = static_cast<double>(timeline.step_ns) / 1e9;
  const auto worst = find_worst(timeline, *tps);
  const double lowest = *tps->values[worst.step];
  const double offset_s = static_cast<double>(worst.before) * step_s;
  const auto* p99 = timeline.find("oltp", "response_p99");
  return Json{{"kind", "steadiness"},
              {"part", part.name},
              {"text", steadiness_text(mean, deviation, lowest, offset_s)},
              {"seconds", count * step_s},
              {"step_s", step_s},
              {"tps_mean", mean},
              {"tps_cv", mean > 0 ? Json(deviation / mean) : Json()},
              {"worst",
               {{"offset_s", offset_s},
                {"tps", lowest},
                {"response_p99_ns", p99 ? or_null(p99->values[worst.step]) : Json()},
                {"beside", beside(timeline, worst.step)}}}};
}

std::string_view outcome_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kTooFew:
      return "not enough seconds";
    case Outcome::kNoVariation:
      return "no variation";
  }
  return "";
}

struct Tested {
  std::string target;
  const TimelineSeries* series;
  LaggedCorrelation result;
};

// The kernel's own averages over ten seconds say the same as the shares, later.
bool is_smoothed(const TimelineSeries& series) {
  return series.name.find("_avg10") != std::string::npos;
}

std::vector<Tested> test_all(const Timeline& timeline) {
  const double step_s = static_cast<double>(timeline.step_ns) / 1e9;
  const int max_lag = static_cast<int>(kMaxLagSeconds / step_s);
  std::vector<Tested> tested;
  for (const auto* target_name : {"tps", "response_mean", "response_p99"}) {
    const auto* target = timeline.find("oltp", target_name);
    if (target == nullptr) continue;
    const auto target_values = measured_values(timeline, *target);
    for (const auto& series : timeline.series) {
      if (series.source == "oltp" || is_smoothed(series)) continue;
      tested.push_back(
          {target_name, &series,
           correlate_lagged(target_values, measured_values(timeline, series), max_lag)});
    }
  }
  return tested;
}

// Counts of a device's requests by size and by whose they are.
bool counts_requests(const std::string& name) {
  return name.find("_up_to_") != std::string::npos || name.ends_with("_larger") ||
         name.starts_with("ours_") || name.starts_with("kernel_");
}

// Rates, our own CPU use and the observer's work follow the load itself: more transactions do more
// I/O and take more CPU. Those sure relations are corrected among themselves, so that they don't
// make the others look less like chance.
bool follows_load(const Tested& tested) {
  const auto& [source, name, unit, values] = *tested.series;
  return unit.ends_with("per_s") || (source == "cpu" && name.starts_with("self_")) ||
         source == "observer" || (source.starts_with("device:") && counts_requests(name));
}

// "write mean latency of vda", "psi io some %".
std::string series_words(const std::string& source, const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {"_bytes_per_s", " bytes a second"},
      {"_iops", " IOPS"},
      {"_mean", " mean latency"},
      {"_p99", " p99 latency"},
      {"_pct", " %"}};
  std::string words = name;
  for (const auto& [ending, text] : kEndings) {
    if (!words.ends_with(ending)) continue;
    words.replace(words.size() - ending.size(), ending.size(), text);
    break;
  }
  std::replace(words.begin(), words.end(), '_', ' ');
  if (source.starts_with("device:")) return words + " of " + source.substr(7);
  return (source == "psi" ? "I/O pressure" : source) + " " + words;
}

std::string target_words(const std::string& target) {
  constexpr std::pair<std::string_view, std::string_view> kTargets[] = {
      {"tps", "TPS"}, {"response_mean", "mean response"}, {"response_p99", "p99 response"}};
  for (const auto& [name, words] : kTargets) {
    if (target == name) return std::string(words);
  }
  return target;
}

std::string correlation_text(const Tested& tested, double lag_s, double q) {
  const auto& result = tested.result;
  const auto target = target_words(tested.target);
  const auto series = series_words(tested.series->source, tested.series->name);
  if (result.outcome != Outcome::kOk) {
    return fmt::format("{} and {}: {}", target, series, outcome_word(result.outcome));
  }
  if (q > kSignificance) return fmt::format("{} and {}: no relation beyond chance", target, series);
  const auto when = lag_s == 0  ? std::string("in the same step")
                    : lag_s > 0 ? fmt::format("{:g} s after it", lag_s)
                                : fmt::format("{:g} s before it", -lag_s);
  return fmt::format("{} {} as {} rises, {} (rho {:.2f})", target,
                     result.rho > 0 ? "rises" : "falls", series, when, result.rho);
}

Json correlation_finding(const Part& part, const Tested& tested, double step_s, double q) {
  const auto& result = tested.result;
  const bool is_known = result.outcome == Outcome::kOk;
  const double lag_s = result.lag * step_s;
  Json finding{{"kind", "correlation"},
               {"part", part.name},
               {"text", correlation_text(tested, lag_s, q)},
               {"target", tested.target},
               {"source", tested.series->source},
               {"name", tested.series->name},
               {"follows_load", follows_load(tested)},
               {"outcome", outcome_word(result.outcome)},
               {"n", result.n}};
  if (!is_known) return finding;
  finding.update(Json{{"rho", result.rho},
                      {"lag_s", lag_s},
                      {"low", result.interval.low},
                      {"high", result.interval.high},
                      {"n_effective", result.n_effective},
                      {"p", result.p},
                      {"q", q},
                      {"significant", q <= kSignificance}});
  return finding;
}

std::vector<double> corrected(const std::vector<Tested>& tested, bool of_rates) {
  std::vector<double> p_values;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tested.size(); ++i) {
    if (tested[i].result.outcome != Outcome::kOk || follows_load(tested[i]) != of_rates) continue;
    p_values.push_back(tested[i].result.p);
    places.push_back(i);
  }
  const auto adjusted = adjust_for_many(p_values);
  std::vector<double> q_values(tested.size(), 1);
  for (std::size_t i = 0; i < places.size(); ++i) q_values[places[i]] = adjusted[i];
  return q_values;
}

void add_correlations(const Part& part, const Timeline& timeline, std::vector<Json>& findings) {
  const auto tested = test_all(timeline);
  const auto of_rates = corrected(tested, true);
  const auto of_others = corrected(tested, false);
  const double step_s = static_cast<double>(timeline.step_ns) / 1e9;
  for (std::size_t i = 0; i < tested.size(); ++i) {
    const double q = follows_load(tested[i]) ? of_rates[i] : of_others[i];
    findings.push_back(correlation_finding(part, tested[i], step_s, q));
  }
}

}  // namespace

std::vector<Json> correlate(const Record& record) {
  std::vector<Json> findings;
  for (const auto& part : record.parts()) {
    if (part.kind != "oltp") continue;
    const auto timeline = make_timeline(record, part);
    if (auto steady = steadiness(part, timeline)) findings.push_back(std::move(*steady));
    add_correlations(part, timeline, findings);
  }
  return findings;
}

}  // namespace plimsoll
