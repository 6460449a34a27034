// Lengths: lines, files and functions. clang-format makes the shapes that this reads.
#include <algorithm>
#include <regex>

#include "tests/catch.h"
#include "tests/tree/source_tree.h"

namespace plimsoll::tree {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kFileLines = 400;
constexpr std::size_t kFunctionLines = 70;
constexpr std::size_t kMedianFunctionLines = 10;

const std::vector<std::string> kFolders = {"results", "rawio", "oltp", "vmrunner", "cli", "tests"};

// Code points, not bytes.
std::size_t width(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

struct Function {
  std::string where;
  std::size_t lines;
};

// A definition outside a class starts and ends in column 0; one inside a class, in column 2.
std::vector<Function> functions_at(const SourceFile& file, const std::string& indent) {
  static const std::regex not_a_function(
      R"(^\s*(namespace|class|struct|enum|union|extern|typedef)\b)"
      R"(|^\s*template\s*<[^>]*>\s*(class|struct)\b|=\s*\{?$|= \{)");
  const std::regex opens("^" + indent + R"([A-Za-z~].*\{$)");
  const std::regex closes("^" + indent + R"(\};?$)");
  const std::regex continued("^" + indent + R"([A-Za-z~].*[(,]$)");
  std::vector<Function> found;
  std::size_t start = 0;
  bool inside = false;
  std::size_t head = 0;  // first line of a signature that spans lines
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const auto& line = file.lines[i];
    if (!inside && std::regex_search(line, continued)) head = i + 1;
    const bool body = std::regex_search(line, opens) ||
                      (head != 0 && !line.empty() && line.back() == '{' && line[0] == ' ');
    if (!inside && body && !std::regex_search(line, not_a_function)) {
      start = head != 0 ? head - 1 : i;
      inside = true;
    } else if (inside && std::regex_search(line, closes)) {
      found.push_back({file.path + ":" + std::to_string(start + 1), i - start + 1});
      inside = false;
    }
    if (line.empty() || line.back() == ';' || line.back() == '{') head = 0;
  }
  return found;
}

std::vector<Function> functions_of(const SourceFile& file) {
  auto found = functions_at(file, "");
  for (auto& inner : functions_at(file, "  ")) {
    if (file.path.size() > 2 && file.path.substr(file.path.size() - 2) == ".h")
      found.push_back(inner);
  }
  return found;
}

TEST_CASE("lines stay within 100 columns and files within 400 lines") {
  for (const auto& file : read_sources(kFolders)) {
    INFO(file.path);
    CHECK(file.lines.size() <= kFileLines);
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (width(file.lines[i]) > kColumns) FAIL_CHECK("line " << i + 1 << " is too long");
    }
  }
}

TEST_CASE("functions stay within 70 lines, the median within 10") {
  std::vector<std::size_t> lengths;
  for (const auto& file : read_sources({"results", "rawio", "oltp", "vmrunner", "cli"})) {
    for (const auto& function : functions_of(file)) {
      lengths.push_back(function.lines);
      if (function.lines > kFunctionLines) {
        FAIL_CHECK(function.where << " has " << function.lines << " lines");
      }
    }
  }
  REQUIRE(lengths.size() > 50);
  std::nth_element(lengths.begin(), lengths.begin() + lengths.size() / 2, lengths.end());
  CHECK(lengths[lengths.size() / 2] <= kMedianFunctionLines);
}

TEST_CASE("the length of a function is read right") {
  const SourceFile file{"a.cpp",
                        {"namespace x {", "int f() {", "  return 1;", "}", "void g(int a,",
                         "       int b) {", "  a = b;", "}", "const int k[] = {", "    1,", "};"}};
  const auto found = functions_of(file);
  REQUIRE(found.size() == 2);
  CHECK(found[0].lines == 3);
  CHECK(found[1].lines == 4);
}

}  // namespace
}  // namespace plimsoll::tree
