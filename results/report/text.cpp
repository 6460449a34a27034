#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/base/units.h"
#include "results/report/report.h"
#include "results/report/shell_words.h"
#include "results/report/text_commit.h"
#include "results/report/text_layout.h"
#include "results/report/text_observe.h"

// The text is a view of the JSON object, so that both always say the same.
namespace plimsoll {

namespace {

constexpr std::size_t kMostRelations = 5;

std::string labelled_inked(const std::string& label, const std::string& text, Ink ink,
                           const TextStyle& style) {
  const auto plain = labelled(label, text);
  return inked(label, ink, style) + plain.substr(label.size());
}

// --- one line for each kind of part: what came out of it

std::string raw_sentence(const Json& part) {
  std::vector<std::string> said;
  for (const auto& [name, operation] : part["operations"].items()) {
    auto text = fmt::format("{} {} IOPS", name, count_cell(operation["iops"]));
    if (name != "flush") text += fmt::format(", {} MiB/s", mib_cell(operation["bytes_per_s"]));
    text += fmt::format(", response p99 {}", duration_cell(get(operation["response_ns"], "p99")));
    said.push_back(text);
  }
  return said.empty() ? "nothing was measured" : fmt::format("{}", fmt::join(said, "; "));
}

std::string oltp_sentence(const Json& part) {
  if (part["tps"].is_null()) return "no transaction was measured";
  return fmt::format("{} TPS of {} over {}, response mean {}, p99 {}", count_cell(part["tps"]),
                     text_of(part, "name"), duration_cell(part["measured_s"].get<double>() * 1e9),
                     duration_cell(get(part["response_ns"], "mean")),
                     duration_cell(get(part["response_ns"], "p99")));
}

std::string load_sentence(const Json& part) {
  if (part["rows"].is_null()) return "the load did not finish";
  return fmt::format("{} rows, {} loaded in {}", count_cell(part["rows"]),
                     format_size(part["bytes"].get<std::uint64_t>()),
                     duration_cell(part["seconds"].get<double>() * 1e9));
}

std::string part_sentence(const Json& part) {
  const auto kind = text_of(part, "kind");
  if (kind == "raw") return raw_sentence(part);
  if (kind == "oltp") return oltp_sentence(part);
  if (kind == "observe") return observe_sentence(part);
  return kind == "load" ? load_sentence(part) : kind;
}

// --- tables

std::string raw_table(const Json& part, const TextStyle& style) {
  TextTable table({"Operation", "IOPS", "MiB/s", "mean", "p50", "p99", "p99.9", "max"});
  for (const auto& [name, operation] : part["operations"].items()) {
    for (const std::string measure : {"response", "service"}) {
      std::vector<std::string> cells{name + ", " + measure, count_cell(operation["iops"]),
                                     name == "flush" ? "-" : mib_cell(operation["bytes_per_s"])};
      add_latency_cells(cells, operation[measure + "_ns"]);
      table.add(std::move(cells));
    }
  }
  return table.str(style);
}

std::string transaction_table(const Json& part, const TextStyle& style) {
  TextTable table({"Transactions", "TPS", "mean", "p50", "p99", "p99.9", "max"});
  const auto add = [&](const std::string& name, const Json& object, const std::string& measure) {
    std::vector<std::string> cells{name + ", " + measure, count_cell(object["tps"])};
    add_latency_cells(cells, object[measure + "_ns"]);
    table.add(std::move(cells));
  };
  add("all", part, "response");
  add("all", part, "service");
  if (part["transactions"].size() > 1) {
    for (const auto& [name, object] : part["transactions"].items()) add(name, object, "response");
  }
  return table.str(style);
}

std::string short_name(const Json& part) {
  const auto name = text_of(part, "name");
  return name.starts_with("raw ") ? name.substr(4) : name;
}

std::string raw_list_table(const Json& parts, const TextStyle& style) {
  TextTable table({"Raw (response time)", "IOPS", "p50", "p99", "p99.9", "MiB/s"});
  for (const auto& part : parts) {
    const auto& operations = part["operations"];
    for (const auto& [name, operation] : operations.items()) {
      const auto label = operations.size() > 1 ? short_name(part) + ", " + name : short_name(part);
      const auto& response = operation["response_ns"];
      table.add({label, count_cell(operation["iops"]), duration_cell(get(response, "p50")),
                 duration_cell(get(response, "p99")), duration_cell(get(response, "p999")),
                 name == "flush" ? "-" : mib_cell(operation["bytes_per_s"])});
    }
  }
  return table.empty() ? "" : table.str(style) + '\n';
}

std::string worst_cell(const Json& findings, const std::string& part) {
  for (const auto& finding : findings) {
    if (text_of(finding, "kind") != "steadiness" || text_of(finding, "part") != part) continue;
    return count_cell(get(finding["worst"], "tps")) + " TPS";
  }
  return "-";
}

std::string oltp_list_table(const Json& run, const TextStyle& style) {
  TextTable table({"Database (response time)", "TPS", "mean", "p99", "p99.9", "worst second"});
  for (const auto& part : run["oltp"]) {
    const auto name = text_of(part, "name");
    const auto& response = part["response_ns"];
    table.add({name, count_cell(part["tps"]), duration_cell(get(response, "mean")),
               duration_cell(get(response, "p99")), duration_cell(get(response, "p999")),
               worst_cell(run["findings"], name)});
  }
  return table.empty() ? "" : table.str(style) + '\n';
}

// --- lines

std::string device_mean(const Json& mean_ns) {
  return mean_ns.is_number() ? " of " + duration_cell(mean_ns) + " on average" : "";
}

std::string device_operation(const Json& device, const std::string& plural,
                             const std::string& prefix) {
  const auto count = get(device, plural);
  if (!count.is_number() || count.get<double>() == 0) return "";
  const auto d2c = get(device, prefix + "_d2c_ns");
  if (!d2c.is_null()) {
    return fmt::format("{} {} of p50 {}, p99 {}", count_cell(count), plural,
                       duration_cell(d2c["p50"]), duration_cell(d2c["p99"]));
  }
  return fmt::format("{} {}{}", count_cell(count), plural,
                     device_mean(get(device, prefix + "_mean_ns")));
}

std::string device_line(const Json& part) {
  const auto device = get(part, "device");
  if (device.is_null()) return "";
  std::vector<std::string> said;
  for (const auto& [plural, prefix] :
       {std::pair{"reads", "read"}, {"writes", "write"}, {"flushes", "flush"}}) {
    const auto text = device_operation(device, plural, prefix);
    if (!text.empty()) said.push_back(text);
  }
  const auto what = said.empty() ? "no I/O" : fmt::format("{}", fmt::join(said, ", "));
  return labelled("Device",
                  fmt::format("{} in {}: {}", text_of(device, "name"), short_name(part), what));
}

std::string accounting_line(const Json& part) {
  if (get(part, "committed").is_null()) return "";
  return labelled("Counted",
                  fmt::format("{} committed, {} rolled back as intended, {} retries, {} failed",
                              count_cell(part["committed"]), count_cell(part["user_rollbacks"]),
                              count_cell(part["retried"]), count_cell(part["failed"])));
}

std::string steadiness_lines(const Json& run) {
  std::string lines;
  for (const auto& finding : run["findings"]) {
    if (text_of(finding, "kind") != "steadiness") continue;
    lines += labelled(lines.empty() ? "Steady" : "",
                      text_of(finding, "part") + ": " + text_of(finding, "text"));
  }
  return lines;
}

// What is beyond chance, the strongest first; what follows the load is no news.
std::vector<Json> telling_relations(const Json& run) {
  std::vector<Json> telling;
  for (const auto& finding : run["correlations"]) {
    if (get(finding, "significant") == true && finding["follows_load"] == false) {
      telling.push_back(finding);
    }
  }
  std::stable_sort(telling.begin(), telling.end(), [](const Json& a, const Json& b) {
    return std::abs(a["rho"].get<double>()) > std::abs(b["rho"].get<double>());
  });
  return telling;
}

std::string relation_lines(const Json& run) {
  const auto& all = run["correlations"];
  const auto known = std::count_if(all.begin(), all.end(), [](const Json& finding) {
    return text_of(finding, "outcome") == "ok" && finding["follows_load"] == false;
  });
  if (all.empty()) return "";
  if (known == 0) return labelled("Moves", "too few seconds to say what moves with what");
  const auto telling = telling_relations(run);
  std::string lines;
  for (std::size_t i = 0; i < std::min(telling.size(), kMostRelations); ++i) {
    lines += labelled(i == 0 ? "Moves" : "",
                      text_of(telling[i], "part") + ": " + text_of(telling[i], "text"));
  }
  return lines + labelled(telling.empty() ? "Moves" : "",
                          fmt::format("{} of {} pairs of series move together beyond chance, apart "
                                      "from what follows the load; that alone is no cause",
                                      telling.size(), known));
}

std::string trust_lines(const Json& run, const TextStyle& style) {
  if (run["warnings"].empty()) {
    return labelled_inked("Trust", "ok  no warning was raised", Ink::kGood, style);
  }
  std::string lines;
  for (const auto& warning : run["warnings"]) {
    const auto severity = text_of(warning, "severity");
    const bool invalidates = severity == "invalidates";
    const auto* mark = invalidates ? "X  invalid: " : severity == "doubt" ? "!  " : "-  ";
    lines += labelled_inked(lines.empty() ? "Trust" : "", mark + text_of(warning, "text"),
                            invalidates ? Ink::kBad : Ink::kWarning, style);
  }
  return lines;
}

// Never wrapped: what is copied from here must be the whole path and the whole command.
std::string closing_lines(const Json& run) {
  return fmt::format("Record   {}\nRepeat   {}\n", text_of(run, "run_dir"),
                     shell_words(run["argv"].get<std::vector<std::string>>()));
}

std::string cut_line(const Json& run, const TextStyle& style) {
  if (run["finished"] == true) return "";
  return labelled_inked("CUT",
                        "the run did not reach its end: the figures are those measured until then",
                        Ink::kBad, style);
}

Ink verdict_ink(const std::string& word) {
  if (word == "none") return Ink::kBold;
  return word == "pass" ? Ink::kGood : Ink::kBad;
}

// The verdict where there is one or a reason for none, then what was found.
std::string answer_lines(const Json& run, const std::vector<std::string>& results,
                         const TextStyle& style) {
  const auto word = text_of(run, "verdict");
  const auto sentence = text_of(run, "verdict_sentence");
  std::string lines;
  if (word != "none" || !sentence.empty()) {
    lines += labelled_inked("VERDICT", sentence.empty() ? word : word + ": " + sentence,
                            verdict_ink(word), style);
  }
  for (const auto& result : results) {
    lines += labelled_inked(&result == &results.front() ? "RESULT" : "", result, Ink::kBold, style);
  }
  return lines;
}

Json find_level(const Json& drive, const Json& name) {
  for (const auto& level : get(drive, "levels")) {
    if (level["name"] == name) return level;
  }
  return Json();
}

std::string drive_words(const Json& level) {
  auto text = text_of(level, "model");
  text += (text.empty() ? "" : " ") + format_size(level["size_bytes"].get<std::uint64_t>());
  const auto firmware = text_of(level, "firmware");
  if (!firmware.empty()) text += " (firmware " + firmware + ")";
  return text + ", " + text_of(level, "node");
}

std::string drive_line(const Json& run) {
  const auto drive = get(run["environment"], "drive");
  std::vector<std::string> said;
  for (const auto& name : get(drive, "drives")) {
    const auto level = find_level(drive, name);
    if (!level.is_null()) said.push_back(drive_words(level));
  }
  const auto system = get(drive, "file_system");
  if (!system.is_null()) {
    said.push_back(text_of(system, "type") + " at " + text_of(system, "mount_point"));
  }
  return said.empty() ? "" : labelled("Drive", fmt::format("{}", fmt::join(said, ", ")));
}

// --- one function a command

// Of a fio job of several groups: all that was measured, one part after the other.
std::string raw_parts_text(const Json& run, const TextStyle& style) {
  std::vector<std::string> results;
  for (const auto& part : run["parts"]) {
    results.push_back(short_name(part) + ": " + raw_sentence(part));
  }
  auto text = answer_lines(run, results, style) + '\n' + raw_list_table(run["parts"], style);
  for (const auto& part : run["parts"]) text += device_line(part);
  return text;
}

std::string raw_text(const Json& run, const TextStyle& style) {
  if (run.contains("parts")) return raw_parts_text(run, style);
  return answer_lines(run, {raw_sentence(run)}, style) + '\n' + raw_table(run, style) + '\n' +
         device_line(run);
}

std::string oltp_text(const Json& run, const TextStyle& style) {
  return answer_lines(run, {oltp_sentence(run)}, style) + '\n' + transaction_table(run, style) +
         '\n' + accounting_line(run) + device_line(run) + steadiness_lines(run) +
         relation_lines(run);
}

std::string load_text(const Json& run, const TextStyle& style) {
  return answer_lines(run, {load_sentence(run)}, style) + device_line(run);
}

std::string observe_text(const Json& run, const TextStyle& style) {
  return answer_lines(run, {observe_sentence(run)}, style) + drive_line(run) + '\n' +
         observe_table(run, style);
}

std::string qualify_text(const Json& run, const TextStyle& style) {
  std::vector<std::string> results;
  for (const auto& part : run["oltp"]) results.push_back(oltp_sentence(part));
  if (results.empty()) results.emplace_back("no database run was measured");
  auto text = answer_lines(run, results, style) + drive_line(run) + '\n' +
              oltp_list_table(run, style) + raw_list_table(run["raw"], style);
  for (const auto& part : run["oltp"]) text += device_line(part);
  return text + steadiness_lines(run) + relation_lines(run);
}

std::string commit_text(const Json& run, const TextStyle& style) {
  const auto parts = run.contains("parts") ? run["parts"] : Json::array({run});
  return answer_lines(run, {commit_sentence(parts)}, style) + drive_line(run) + '\n' +
         commit_tables(parts, style) + plausibility_line(run["findings"]);
}

std::string parts_text(const Json& run, const TextStyle& style) {
  std::vector<std::string> results;
  for (const auto& part : get(run, "parts")) {
    results.push_back(fmt::format("{}: {}", text_of(part, "name"), part_sentence(part)));
  }
  if (results.empty()) results.emplace_back("nothing was measured");
  return answer_lines(run, results, style) + '\n';
}

using CommandText = std::string (*)(const Json& run, const TextStyle& style);
constexpr std::pair<const char*, CommandText> kCommandTexts[] = {
    {"raw", raw_text},       {"oltp run", oltp_text},   {"oltp load", load_text},
    {"commit", commit_text}, {"observe", observe_text}, {"qualify", qualify_text}};

bool has_its_part(const Json& run) {
  const auto command = text_of(run, "command");
  return command == "qualify" || command == "commit" || run.contains("kind");
}

}  // namespace

std::string render_text(const Record& record, const TextStyle& style) {
  const auto run = render_json(record);
  CommandText body = parts_text;
  for (const auto& [command, text] : kCommandTexts) {
    if (text_of(run, "command") == command && has_its_part(run)) body = text;
  }
  return cut_line(run, style) + body(run, style) + trust_lines(run, style) + closing_lines(run);
}

}  // namespace plimsoll
