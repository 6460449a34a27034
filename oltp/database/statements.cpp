#include "oltp/database/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "results/base/error.h"

namespace plimsoll {

std::span<const std::pair<std::string_view, std::string_view>> embedded_schemas();

namespace {

constexpr std::string_view kNameMark = "-- name: ";

const std::string_view* find_schema(const std::string& path) {
  for (const auto& [name, text] : embedded_schemas()) {
    if (name == path) return &text;
  }
  return nullptr;
}

std::string trim(std::string text) {
  constexpr std::string_view kSpace = " \t\r\n;";
  text.erase(text.find_last_not_of(kSpace) + 1);
  return text;
}

}  // namespace

Statements Statements::load(std::string_view schema, std::string_view engine) {
  const std::string_view* common = find_schema(fmt::format("{}/common.sql", schema));
  assert(common != nullptr && "every schema has a common set");
  Statements statements = parse(*common);
  const std::string dialect = fmt::format("{}/{}.sql", schema, engine);
  if (const std::string_view* text = find_schema(dialect)) {
    statements.override_with(parse(*text), dialect);
  }
  return statements;
}

Statements Statements::parse(std::string_view text) {
  Statements statements;
  std::string* current = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kNameMark)) {
      current = &statements.by_name_[trim(std::string(line.substr(kNameMark.size())))];
    } else if (current != nullptr && !line.starts_with("--")) {
      current->append(line).append("\n");
    }
  }
  for (auto& [name, sql] : statements.by_name_) sql = trim(std::move(sql));
  return statements;
}

void Statements::override_with(const Statements& dialect, std::string_view dialect_name) {
  for (const auto& [name, sql] : dialect.by_name_) {
    const auto common = by_name_.find(name);
    if (common == by_name_.end()) {
      throw UsageError(
          fmt::format("{} has a statement '{}' that nobody uses: remove it", dialect_name, name));
    }
    if (std::ranges::count(sql, '?') != std::ranges::count(common->second, '?')) {
      throw UsageError(
          fmt::format("'{}' in {} has other parameters than the common one: give it "
                      "as many",
                      name, dialect_name));
    }
    common->second = sql;
  }
}

std::string Statements::sql(std::string_view name) const {
  const auto found = by_name_.find(name);
  assert(found != by_name_.end() && "statement names are those of schemas/");
  return found->second;
}

std::string Statements::sql(std::string_view name, int n) const {
  std::string text = sql(name);
  const std::string value = std::to_string(n);
  for (std::size_t at = text.find("{n}"); at != std::string::npos; at = text.find("{n}", at)) {
    text.replace(at, 3, value);
  }
  return text;
}

}  // namespace plimsoll
