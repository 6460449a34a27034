#include "results/report/text_commit.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/report/text_layout.h"

namespace plimsoll {
namespace {

Json commit_of(const Json& part) {
  const auto operations = part.value("operations", Json::object());
  return operations.value("commit", Json());
}

std::string row_label(const Json& spec) {
  return fmt::format("{} {}", spec["committers"].get<std::uint64_t>(),
                     spec["grouped"] == true ? "grouped" : "alone");
}

void add_once(std::vector<std::string>& list, const std::string& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

std::string cell_of(const Json& parts, const std::string& row, const std::string& method,
                    const char* figure) {
  for (const auto& part : parts) {
    const auto& spec = part["spec"];
    if (row_label(spec) != row || spec["method"] != method) continue;
    const auto commit = commit_of(part);
    if (commit.is_null()) return "-";
    const std::string name = figure;
    if (name == "iops") return count_cell(commit["iops"]);
    return commit["service_ns"].is_null() ? "-" : duration_cell(commit["service_ns"][name]);
  }
  return "-";
}

const Json* best_of(const Json& parts, bool one_committer) {
  const Json* best = nullptr;
  double most = -1;
  for (const auto& part : parts) {
    const auto commit = commit_of(part);
    if (commit.is_null() || !commit["iops"].is_number()) continue;
    if (one_committer != (part["spec"]["committers"] == 1)) continue;
    if (commit["iops"].get<double>() <= most) continue;
    most = commit["iops"].get<double>();
    best = &part;
  }
  return best;
}

std::string best_words(const Json& part) {
  const auto commit = commit_of(part);
  const auto p99 = commit["service_ns"].is_null() ? Json() : commit["service_ns"]["p99"];
  return fmt::format("{} commits/s, p99 {}, {} by {}", count_cell(commit["iops"]),
                     duration_cell(p99), part["spec"]["method"].get<std::string>(),
                     row_label(part["spec"]));
}

}  // namespace

std::string commit_sentence(const Json& parts) {
  const auto* one = best_of(parts, true);
  const auto* many = best_of(parts, false);
  if (one == nullptr && many == nullptr) return "no commit was measured";
  std::string text;
  if (one != nullptr) text = "one committer: " + best_words(*one);
  if (many != nullptr) text += (text.empty() ? "" : "; most: ") + best_words(*many);
  return text;
}

std::string commit_tables(const Json& parts, const TextStyle& style) {
  std::vector<std::string> rows;
  std::vector<std::string> methods;
  for (const auto& part : parts) {
    add_once(rows, row_label(part["spec"]));
    add_once(methods, part["spec"]["method"].get<std::string>());
  }
  std::string text;
  for (const auto& [title, figure] :
       {std::pair{"Commits a second", "iops"}, {"Commit p50", "p50"}, {"Commit p99", "p99"}}) {
    std::vector<std::string> heads{title};
    heads.insert(heads.end(), methods.begin(), methods.end());
    TextTable table(heads);
    for (const auto& row : rows) {
      std::vector<std::string> cells{row};
      for (const auto& method : methods) cells.push_back(cell_of(parts, row, method, figure));
      table.add(std::move(cells));
    }
    text += table.str(style) + '\n';
  }
  return text;
}

std::string plausibility_line(const Json& findings) {
  for (const auto& finding : findings) {
    if (finding.value("kind", "") == "plausibility") {
      return labelled("Flush", finding.value("text", ""));
    }
  }
  return "";
}

}  // namespace plimsoll
