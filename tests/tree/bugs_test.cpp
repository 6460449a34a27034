// Each row of docs/bugs-others-had.md names a test that exists.
#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/tree/source_tree.h"

namespace plimsoll::tree {
namespace {

// The last cell of a table's row; empty for other lines.
std::string last_cell(const std::string& line) {
  if (line.empty() || line.front() != '|' || line.back() != '|') return "";
  const auto start = line.rfind('|', line.size() - 2);
  const auto first = line.find_first_not_of(' ', start + 1);
  const auto last = line.find_last_not_of(' ', line.size() - 2);
  return first > last ? "" : line.substr(first, last - first + 1);
}

std::string all_tests() {
  std::string text;
  for (const auto& file : read_sources({"tests"})) {
    for (const auto& line : file.lines) text += line + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("every bug that others had has its test") {
  std::ifstream table(std::string(PLIMSOLL_SOURCE_DIR) + "/docs/bugs-others-had.md");
  const auto tests = all_tests();
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    const auto name = last_cell(line);
    if (name.empty() || name == "test" || name.starts_with("---")) continue;
    ++rows;
    INFO(name);
    CHECK(tests.find("TEST_CASE(\"" + name + "\"") != std::string::npos);
  }
  CHECK(rows >= 18);
}

}  // namespace plimsoll::tree
