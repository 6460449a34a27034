#include <nlohmann/json.hpp>

#include "results/record/record.h"
#include "tests/catch.h"
#include "tests/lab/process.h"
#include "tests/lab/temp_dir.h"
#include "tests/results/record_samples.h"

namespace plimsoll {
namespace {

lab::ProcessResult show(const std::filesystem::path& working_dir,
                        std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {PLIMSOLL_BINARY, "show"});
  lab::ProcessOptions options;
  options.working_dir = working_dir;
  return lab::run_process(arguments, options);
}

TEST_CASE("show: a run is shown by its folder, by record.db, or as the latest") {
  const lab::TempDir temp;
  samples::write(temp.path() / "results/runs/2026-01-01T00-00-00-raw-a", 2);
  const auto newest = temp.path() / "results/runs/2026-01-02T00-00-00-raw-b";
  samples::write(newest, 3);
  const auto by_folder = show(temp.path(), {newest.string()});
  CHECK(by_folder.exit_code == 0);
  CHECK(by_folder.err.empty());
  CHECK_THAT(by_folder.out, ContainsSubstring("/mnt/x"));
  CHECK(show(temp.path(), {(newest / "record.db").string()}).out == by_folder.out);
  const auto latest = show(temp.path(), {"latest", "--json"});
  CHECK(latest.exit_code == 0);
  CHECK(nlohmann::json::parse(latest.out)["measured_s"] == 3);
  CHECK(show(temp.path(), {"--json"}).out == latest.out);
}

TEST_CASE("show: a record that can't be read is one line and exit code 2") {
  const lab::TempDir temp;
  lab::write_text(temp.path() / "cut.db", "SQLite format 3");
  for (const std::string run : {"none", "cut.db", "latest"}) {
    const auto result = show(temp.path(), {run});
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("plimsoll: "));
    CHECK(result.err.find('\n') == result.err.size() - 1);
  }
}

TEST_CASE("show: a target whose name isn't UTF-8 is shown all the same") {
  const lab::TempDir temp;
  RunSpec spec = samples::spec();
  spec.target = "/mnt/\xff";
  Record::create(temp.path() / "run", spec).finish(1);
  CHECK(show(temp.path(), {"run"}).exit_code == 0);
  const auto result = show(temp.path(), {"run", "--json"});
  CHECK(result.exit_code == 0);
  CHECK(nlohmann::json::parse(result.out).contains("target"));
}

TEST_CASE("show: a run that was cut is shown as far as it went") {
  const lab::TempDir temp;
  {
    Record record = Record::create(temp.path() / "run", samples::spec());
    const Part part = record.begin_part("p", "raw", Json::object(), 0);
    record.add_interval(samples::interval(part, "raw", "read", 0, {1000, 2000}));
  }
  const auto result = show(temp.path(), {"run", "--json"});
  CHECK(result.exit_code == 0);
  CHECK(nlohmann::json::parse(result.out)["measured_s"] == 1);
}

}  // namespace
}  // namespace plimsoll
