// The page, as text and as Chromium shows it.
#include <cstdlib>
#include <regex>

#include "results/report/page_data.h"
#include "results/report/report.h"
#include "tests/catch.h"
#include "tests/fakes/sample_records.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"
#include "tests/results/add_findings.h"

using namespace plimsoll;

namespace {

// Made once, for all tests.
const Record& qualify_sample() {
  static const lab::TempDir dir;
  static const auto record = fakes::make_qualify(dir.path() / "run", add_findings);
  return record;
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

std::string data_of(const std::string& html) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const auto begin = html.find(open) + open.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

// The page as it is after its script ran, and what the script complained of.
lab::ProcessResult browse(const lab::TempDir& dir, const std::string& html) {
  const auto page = dir.path() / "report.html";
  lab::write_text(page, html);
  return lab::run_process({"chromium", "--headless", "--no-sandbox", "--disable-gpu",
                           "--disable-quic", "--no-first-run", "--disable-background-networking",
                           "--disable-component-update", "--disable-sync",
                           "--user-data-dir=" + (dir.path() / "profile").string(),
                           "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom",
                           "file://" + page.string()});
}

// Every figure on the page says where in the summary it stands; returns how many were compared.
std::size_t compare_figures(const std::string& dom, const Json& summary) {
  const std::regex figure(R"re(<data value="([^"]*)" data-pointer="([^"]*)")re");
  std::size_t compared = 0;
  for (auto at = std::sregex_iterator(dom.begin(), dom.end(), figure); at != std::sregex_iterator();
       ++at, ++compared) {
    const auto pointer = (*at)[2].str();
    INFO(pointer);
    const auto& value = summary.at(Json::json_pointer(pointer));
    REQUIRE(value.is_number());
    CHECK(std::strtod((*at)[1].str().c_str(), nullptr) == value.get<double>());
  }
  return compared;
}

}  // namespace

TEST_CASE("The page asks for nothing from anywhere") {
  const auto html = render_html(qualify_sample());
  CHECK(count_of(html, "http:") == 0);
  CHECK(count_of(html, "https:") == 0);
  CHECK(count_of(html, "src=") == 0);
  CHECK(count_of(html, "default-src 'none'") == 1);
  CHECK(html.find("Leon Sorokin") != std::string::npos);
  CHECK(html.find("Permission is hereby granted") != std::string::npos);
}

TEST_CASE("A script end in a warning doesn't end the page's script") {
  const auto& record = qualify_sample();
  const auto html = render_html(record);
  CHECK(count_of(html, "</script>") == 4);
  const auto data = Json::parse(data_of(html));
  CHECK(data == page_data(record));
  CHECK(data["run"] == render_json(record));
  CHECK(data["run"]["warnings"][0]["text"].get<std::string>().find("</script>") !=
        std::string::npos);
}

TEST_CASE("The chart data of the page are the record's intervals") {
  lab::TempDir dir;
  const auto record = fakes::make_oltp_run(dir.path() / "run", add_findings);
  const auto part = page_data(record)["parts"][0];
  const auto rows = record.intervals(record.parts().front(), "oltp");
  const auto& timeline = part["timeline"];
  REQUIRE(timeline["time_s"].size() == rows.size());
  CHECK(timeline["time_s"][0] == -3);
  CHECK(timeline["measured"][2] == false);
  CHECK(timeline["measured"][3] == true);
  for (const auto& series : timeline["series"]) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& response = rows[i].latencies.front().histogram;
      if (series["name"] == "tps") CHECK(series["values"][i] == rows[i].count);
      if (series["name"] == "response_p99") CHECK(series["values"][i] == response.percentile(99));
    }
  }
  const auto& points = part["percentiles"][0]["points"];
  const auto total = record.total(record.parts().front(), "oltp", "oltp_read_write");
  CHECK(points.back()[1] == total.latencies.front().histogram.max());
  CHECK(points.back()[0] == total.count);
}

TEST_CASE("Figures read off the page in Chromium equal the record's", "[slow]") {
  if (!lab::has_program("chromium")) return lab::skip("install chromium to look at the page");
  lab::TempDir dir;
  const auto& record = qualify_sample();
  const auto shown = browse(dir, render_html(record));
  REQUIRE(shown.exit_code == 0);
  CHECK(shown.err.find("CONSOLE") == std::string::npos);
  CHECK(compare_figures(shown.out, render_json(record)) > 200);
  CHECK(count_of(shown.out, "<canvas") >= 14);
  CHECK(count_of(shown.out, "[object ") == 0);  // an element shown as text
  CHECK(shown.out.find("may be faster than in a month") != std::string::npos);
}

TEST_CASE("The page of a cut run and of a single part open without an error", "[slow]") {
  if (!lab::has_program("chromium")) return lab::skip("install chromium to look at the page");
  for (const auto make : {fakes::make_cut_qualify, fakes::make_raw, fakes::make_oltp_load}) {
    lab::TempDir dir;
    const auto record = make(dir.path() / "run", add_findings);
    const auto shown = browse(dir, render_html(record));
    INFO(record.spec().command << '\n' << shown.err);
    CHECK(shown.err.find("CONSOLE") == std::string::npos);
    compare_figures(shown.out, render_json(record));
    const bool says_cut = shown.out.find("class=\"invalidates\"><b>cut</b>") != std::string::npos;
    CHECK(says_cut != record.finished());
    CHECK(shown.out.find("How to repeat it") != std::string::npos);
  }
}
