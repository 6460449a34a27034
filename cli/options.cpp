#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/command.h"
#include "results/base/units.h"

namespace plimsoll::cli {
namespace {

std::string first_name(const std::string& names) {
  return names.substr(0, names.find(','));
}

template <typename Value, typename Parse>
CLI::Option* text_option(CLI::App& command, const std::string& names, Value& value,
                         const std::string& description, Parse parse) {
  const std::string name = first_name(names);
  const auto read = [&value, parse, name](const std::string& text) {
    try {
      value = parse(text);
    } catch (const UsageError& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  return command.add_option_function<std::string>(names, read, description);
}

template <typename Number>
std::optional<Number> parse_whole(const std::string& text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

std::string check_seed(const std::string& text) {
  if (parse_whole<std::uint64_t>(text)) return {};
  return fmt::format("{} is out of range; give a whole number from 0 to {}", text, UINT64_MAX);
}

// Makes 0 an error.
template <typename Value, typename Parse>
auto not_zero(Parse parse, const char* example) {
  return [parse, example](const std::string& text) -> Value {
    const Value value = parse(text);
    if (value != 0) return value;
    throw UsageError(fmt::format("{} is nothing; give more, such as {}, or leave the option away",
                                 text, example));
  };
}

// Defaults are shown as a user would type them; 0 or less means that there is none.
std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return {};
  const char* unit = "";
  for (const char* next : {"k", "m", "g", "t"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return fmt::format("{}{}", bytes, unit);
}

std::string duration_text(std::int64_t ns) {
  if (ns <= 0) return {};
  if (ns % (3600 * kSecond_ns) == 0) return fmt::format("{}h", ns / (3600 * kSecond_ns));
  if (ns % (60 * kSecond_ns) == 0) return fmt::format("{}m", ns / (60 * kSecond_ns));
  if (ns % kSecond_ns == 0) return fmt::format("{}s", ns / kSecond_ns);
  return ns % 1'000'000 == 0 ? fmt::format("{}ms", ns / 1'000'000) : fmt::format("{}ns", ns);
}

std::string check_acceptance(const std::string& name) {
  const auto& kinds = warning_kinds();
  const auto is_it = [&](const WarningKind& kind) { return kind.id == name; };
  if (std::any_of(kinds.begin(), kinds.end(), is_it)) return {};
  std::string known;
  for (const WarningKind& kind : kinds) known += (known.empty() ? "" : ", ") + std::string(kind.id);
  return fmt::format("{} is not the name of a refusal or warning; there are {}", name, known);
}

}  // namespace

bool CommonOptions::accepts(const std::string& name) const {
  return std::find(accept.begin(), accept.end(), name) != accept.end();
}

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json, "Print the summary as one JSON object, alone on stdout");
  command.add_flag("--quiet", options.quiet, "No progress on stderr");
  command
      .add_option("--out", options.out, "The record's folder (default: a new one in results/runs)")
      ->type_name("DIR");
  command
      .add_option("--seed", options.seed,
                  "Seed of every random choice; the same gives the same run")
      ->type_name("N")
      ->check(CLI::Validator(check_seed, std::string()));
  // One value an option, or a target after it would be taken for a name.
  command.add_option("--accept", options.accept, "Accept a refusal by the name it prints")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(check_acceptance, std::string()));
  command.add_option("--config", "Take options from a TOML file (option = value); typed ones win")
      ->type_name("FILE.toml");
}

CLI::Option* size_option(CLI::App& command, const std::string& name, std::uint64_t& bytes,
                         const std::string& description, Zero zero) {
  CLI::Option* option = zero == Zero::kAllowed
                            ? text_option(command, name, bytes, description, parse_size_bytes)
                            : text_option(command, name, bytes, description,
                                          not_zero<std::uint64_t>(parse_size_bytes, "64m"));
  return option->type_name("SIZE")->default_str(size_text(bytes));
}

CLI::Option* duration_option(CLI::App& command, const std::string& name, std::int64_t& ns,
                             const std::string& description, Zero zero) {
  CLI::Option* option = zero == Zero::kAllowed
                            ? text_option(command, name, ns, description, parse_duration_ns)
                            : text_option(command, name, ns, description,
                                          not_zero<std::int64_t>(parse_duration_ns, "30s"));
  return option->type_name("TIME")->default_str(duration_text(ns));
}

CLI::Validator whole_number(std::int64_t lowest, std::int64_t highest) {
  const auto check = [lowest, highest](const std::string& text) -> std::string {
    const auto number = parse_whole<std::int64_t>(text);
    if (number && *number >= lowest && *number <= highest) return {};
    return fmt::format("{} is out of range; give a whole number from {} to {}", text, lowest,
                       highest);
  };
  return CLI::Validator(check, std::string());
}

CLI::Option* rate_option(CLI::App& command, const std::string& name, double& per_s,
                         const std::string& description) {
  return text_option(command, name, per_s, description, parse_rate_per_s)
      ->type_name("RATE")
      ->default_str(per_s > 0 ? fmt::format("{}/s", per_s) : std::string());
}

}  // namespace plimsoll::cli
