// The text and JSON of each command against files in tests/golden. After a change that is meant,
// PLIMSOLL_WRITE_GOLDEN=1 writes them anew; read the difference before it is committed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "results/report/report.h"
#include "results/report/shell_words.h"
#include "results/report/text_layout.h"
#include "tests/catch.h"
#include "tests/fakes/sample_records.h"
#include "tests/lab/temp_dir.h"
#include "tests/results/add_findings.h"

using namespace plimsoll;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// What differs from run to run: where the record is, when it was made, by which version.
std::string without_run(const std::string& text, const Record& record) {
  const auto json = render_json(record);
  auto result = replaced(text, record.dir().string(), "RUN_DIR");
  result = replaced(result, json["started_at"].get<std::string>(), "STARTED_AT");
  return replaced(result, "\"version\": \"" + record.version() + "\"", "\"version\": \"VERSION\"");
}

// Numbers to nine digits: the last bits of a double depend on the machine's math library.
Json rounded(const Json& value) {
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value.get<double>());
    return Json::parse(text);
  }
  Json result = value;
  if (value.is_structured()) {
    for (auto& [key, inner] : result.items()) inner = rounded(inner);
  }
  return result;
}

void check_golden(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/golden" / name;
  if (std::getenv("PLIMSOLL_WRITE_GOLDEN") != nullptr) lab::write_text(path, text);
  CHECK(text == lab::read_text(path));
}

// Each sample is made once, for all tests.
const std::map<std::string, Record>& golden_records() {
  static const lab::TempDir dir;
  static const auto made = [] {
    std::map<std::string, Record> records;
    records.emplace("raw", fakes::make_raw(dir.path() / "raw", add_findings));
    records.emplace("oltp_run", fakes::make_oltp_run(dir.path() / "oltp", add_findings));
    records.emplace("oltp_load", fakes::make_oltp_load(dir.path() / "load", add_findings));
    records.emplace("qualify", fakes::make_qualify(dir.path() / "qualify", add_findings));
    records.emplace("cut_qualify", fakes::make_cut_qualify(dir.path() / "cut"));
    return records;
  }();
  return made;
}

bool has_nan(const Json& value) {
  if (value.is_number_float()) return !std::isfinite(value.get<double>());
  if (!value.is_structured()) return false;
  return std::any_of(value.begin(), value.end(), [](const Json& inner) { return has_nan(inner); });
}

}  // namespace

TEST_CASE("The text of each command is the golden one") {
  for (const auto& [name, record] : golden_records()) {
    INFO(name);
    check_golden(name + ".txt", without_run(render_text(record), record));
  }
}

TEST_CASE("The JSON of each command is the golden one") {
  for (const auto& [name, record] : golden_records()) {
    INFO(name);
    const auto json = render_json(record);
    CHECK_FALSE(has_nan(json));
    check_golden(name + ".json", without_run(rounded(json).dump(1) + '\n', record));
  }
}

TEST_CASE("No line of text is wider than 80 columns, but for what is pasted") {
  for (const auto& [name, record] : golden_records()) {
    std::istringstream lines(render_text(record));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("Record") || line.starts_with("Repeat")) continue;  // pasted whole
      INFO(name << ": " << line);
      CHECK(display_width(line) <= kTextColumns);
    }
  }
}

TEST_CASE("Colour adds nothing but escape codes") {
  const auto& record = golden_records().at("qualify");
  auto coloured = render_text(record, {.colour = true});
  CHECK(coloured.find('\x1b') != std::string::npos);
  for (std::size_t at = 0; (at = coloured.find('\x1b')) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  CHECK(coloured == render_text(record));
}

TEST_CASE("Figures of the JSON equal those of the record") {
  const auto& record = golden_records().at("oltp_run");
  const auto json = render_json(record);
  const auto total = record.total(record.parts().front(), "oltp", "");
  CHECK(json["measured_s"] == 60.0);
  CHECK(json["tps"].get<double>() == Approx(static_cast<double>(total.count) / 60));
  CHECK(json["committed"] == total.count);
  const auto& response = total.latencies.front().histogram;
  CHECK(json["response_ns"]["p99"] == response.percentile(99));
  CHECK(json["response_ns"]["mean"].get<double>() == Approx(response.mean()));
  CHECK(json["device"]["reads"] == 2 * total.count);
  CHECK(json["device"]["name"] == "nvme1n1");
  CHECK(json["device"]["read_d2c_ns"].is_null());
}

TEST_CASE("A run with nothing measured has nulls and a text") {
  lab::TempDir dir;
  RunSpec spec;
  spec.command = "oltp run";
  auto record = Record::create(dir.path() / "run", spec);
  record.begin_part("oltp_read_write", "oltp", Json::object(), 1);
  record.commit();
  const auto json = render_json(record);
  CHECK(json["tps"].is_null());
  CHECK(json["measured_s"].is_null());
  CHECK(json["response_ns"].is_null());
  CHECK(json["committed"].is_null());
  CHECK(render_text(record).find("no transaction was measured") != std::string::npos);
}

TEST_CASE("The command to repeat can be pasted into a shell") {
  CHECK(shell_words({"plimsoll", "raw", "/mnt/a b", "it's", ""}) ==
        "plimsoll raw '/mnt/a b' 'it'\\''s' ''");
}
