// Who may include whom: docs/architecture.md, "Layers".
#include <map>
#include <regex>

#include "tests/catch.h"
#include "tests/tree/source_tree.h"

namespace plimsoll::tree {
namespace {

const std::vector<std::string> kLayers = {"results/base",   "results/measure",
                                          "results/record", "results/correlate",
                                          "results/report", "results/reference",
                                          "rawio/device",   "rawio/engine",
                                          "rawio/workload", "rawio/suites",
                                          "oltp",           "vmrunner",
                                          "schemas",        "cli"};

// Each layer may include itself and these.
const std::map<std::string, std::vector<std::string>> kMayInclude = {
    {"results/base", {}},
    {"results/measure", {"results/base"}},
    {"results/record", {"results/base", "results/measure"}},
    {"results/correlate", {"results/base", "results/measure", "results/record"}},
    {"results/reference", {"results/base"}},
    {"results/report",
     {"results/base", "results/measure", "results/record", "results/correlate",
      "results/reference"}},
    {"rawio/device", {"results/base", "results/measure", "results/record"}},
    {"rawio/engine", {"results/base", "results/measure", "results/record"}},
    {"rawio/workload",
     {"results/base", "results/measure", "results/record", "rawio/device", "rawio/engine"}},
    {"rawio/suites",
     {"results/base", "results/measure", "results/record", "rawio/device", "rawio/engine",
      "rawio/workload"}},
    {"oltp", {"results/base", "results/measure", "results/record", "schemas"}},
    {"vmrunner", {"results/base", "results/measure", "results/record"}},
    {"schemas", {}},
    {"cli", {"results/", "rawio/", "oltp", "vmrunner"}},
};

std::string layer_of(const std::string& path) {
  for (const auto& layer : kLayers) {
    if (path.rfind(layer + "/", 0) == 0) return layer;
  }
  return {};
}

bool allowed(const std::string& from, const std::string& to) {
  if (from == to) return true;
  for (const auto& prefix : kMayInclude.at(from)) {
    if (to.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

std::vector<std::string> violations(const std::vector<SourceFile>& files) {
  static const std::regex include(R"re(^\s*#include\s+"([^"]+)")re");
  std::vector<std::string> found;
  for (const auto& file : files) {
    const auto from = layer_of(file.path);
    for (const auto& line : file.lines) {
      std::smatch match;
      if (from.empty() || !std::regex_search(line, match, include)) continue;
      const auto to = layer_of(match[1]);
      if (!to.empty() && !allowed(from, to)) found.push_back(file.path + " includes " + to);
    }
  }
  return found;
}

TEST_CASE("every include goes down the layers") {
  const auto files = read_sources({"results", "rawio", "oltp", "vmrunner", "cli"});
  REQUIRE(files.size() > 20);
  CHECK(violations(files) == std::vector<std::string>{});
}

TEST_CASE("rawio and oltp never see each other, and a run never reads a report") {
  CHECK(violations({{"oltp/a.cpp", {"#include \"rawio/device/observer.h\""}}}).size() == 1);
  CHECK(violations({{"rawio/engine/a.cpp", {"#include \"oltp/database/database.h\""}}}).size() ==
        1);
  CHECK(violations({{"oltp/a.cpp", {"#include \"results/report/report.h\""}}}).size() == 1);
  CHECK(violations({{"results/record/a.h", {"#include \"results/correlate/x.h\""}}}).size() == 1);
  CHECK(violations({{"cli/a.cpp", {"#include \"oltp/database/database.h\""}}}).empty());
}

}  // namespace
}  // namespace plimsoll::tree
