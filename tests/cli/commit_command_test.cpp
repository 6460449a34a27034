// plimsoll commit as a user calls it.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/folders.h"
#include "tests/lab/process.h"

using namespace plimsoll;

namespace {

lab::ProcessResult commit(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {PLIMSOLL_BINARY, "commit"});
  return lab::run_process(arguments);
}

}  // namespace

TEST_CASE("commit measures each way beside the others, alone and grouped") {
  const Folders folders;
  const auto result =
      commit({folders.drive.path(), "--size", "4m", "--committers", "1,4", "--time", "60ms",
              "--warmup", "10ms", "--json", "--quiet", "--out", folders.out()});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  const auto& parts = json.at("parts");
  CHECK(parts.size() == 16);
  for (const auto& part : parts) {
    CHECK(part.at("operations").at("commit").at("count").get<int>() > 0);
    CHECK(part.at("operations").at("commit").at("service_ns").at("p99").get<double>() > 0);
  }
  CHECK(json.at("findings").at(0).at("kind") == "plausibility");
  CHECK(folders.drive_is_empty());

  const auto shown = lab::run_process({PLIMSOLL_BINARY, "show", folders.out()});
  CHECK_THAT(shown.out, ContainsSubstring("4 grouped"));
  CHECK_THAT(shown.out, ContainsSubstring("RWF_DSYNC"));
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);)
    CHECK((line.size() <= 100 || line.starts_with("Repeat")));
}

TEST_CASE("commit refuses what can't be before any I/O") {
  const Folders folders;
  const auto refused = [&](std::vector<std::string> more, const std::string& words) {
    more.insert(more.begin(), folders.drive.path());
    const auto result = commit(more);
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, ContainsSubstring(words));
  };
  refused({"--method", "msync"}, "fdatasync");
  refused({"--record", "1000", "--size", "4m"}, "sectors");
  refused({"--committers", "0", "--size", "4m"}, "1 to 1024");
  refused({"--group", "maybe"}, "--group");
}
