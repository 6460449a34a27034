// Each doubt from a record that gives cause for it, and from one that doesn't.
#include "results/correlate/doubts.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "results/base/units.h"
#include "results/record/warning.h"
#include "tests/catch.h"
#include "tests/lab/temp_dir.h"

using namespace plimsoll;

namespace {

// A raw part of one job and one second, on a drive of its own.
struct RawSecond {
  std::uint64_t ours = 100'000;  // reads of 4 KiB
  std::uint64_t other = 0;       // reads of the drive besides
  double user_pct = 10;          // of the machine
  double self_user_pct = 10;
  double cpu_s = 0.5;
  bool said = false;  // by the run itself, that others used the drive
};

std::map<std::string, std::string> doubts_of(const RawSecond& second) {
  const lab::TempDir dir;
  auto record = Record::create(dir.path() / "run", RunSpec{});
  record.set_environment("drive", {{"drives", {"x"}}});
  const auto part =
      record.begin_part("reads", "raw", {{"engine", "psync"}, {"streams", {{{"jobs", 1}}}}}, 0);
  IntervalRow row;
  row.part = part.id;
  row.source = "raw";
  row.operation = "read";
  row.end_ns = kSecond_ns;
  row.count = second.ours;
  row.bytes = row.count * 4096;
  record.add_interval(row);
  row.source = "device:x";
  row.count = second.ours + second.other;
  row.bytes = row.count * 4096;
  record.add_interval(row);
  record.add_point(part, "cpu", "user_pct", kSecond_ns, second.user_pct);
  record.add_point(part, "cpu", "self_user_pct", kSecond_ns, second.self_user_pct);
  record.end_part(part, kSecond_ns, {{"cpu", {{"user_s", second.cpu_s}, {"system_s", 0}}}});
  if (second.said) record.warn({"shared-drive", "other processes did half"});
  std::map<std::string, std::string> doubts;
  for (const auto& warning : find_doubts(record)) doubts.emplace(warning.id, warning.text);
  return doubts;
}

}  // namespace

TEST_CASE("A run alone on a drive and a machine gives no doubt") {
  CHECK(doubts_of({}).empty());
}

TEST_CASE("I/O of others on the drive of a raw run is a doubt with its share") {
  const auto doubts = doubts_of({.other = 100'000});
  REQUIRE(doubts.size() == 1);
  CHECK(doubts.at("shared-drive") == "50 % of what x moved in reads wasn't asked for by it");
  CHECK(doubts_of({.ours = 3'000, .other = 1'000}).empty());  // 4 MiB: a file system's own
}

TEST_CASE("Others on the drive are said once, by who knows better") {
  CHECK(doubts_of({.other = 100'000, .said = true}).empty());
}

TEST_CASE("Processors that others used are a doubt") {
  const auto doubts = doubts_of({.user_pct = 70, .self_user_pct = 20});
  REQUIRE(doubts.size() == 1);
  CHECK(doubts.at("busy-machine") == "other processes took 50 % of the processors in reads");
}

TEST_CASE("A job that never slept is a doubt") {
  const auto doubts = doubts_of({.cpu_s = 0.97});
  REQUIRE(doubts.size() == 1);
  CHECK_THAT(doubts.at("saturated-load-generator"), ContainsSubstring("97 %"));
}

TEST_CASE("A p99 of a handful of operations is a doubt") {
  const auto doubts = doubts_of({.ours = 1});
  REQUIRE(doubts.size() == 1);
  CHECK_THAT(doubts.at("short-run"), ContainsSubstring("reads has 1 of kind read"));
  CHECK(doubts_of({.ours = 1'000}).empty());
}

TEST_CASE("Every kind of warning is raised somewhere") {
  std::string sources;
  for (const auto* folder : {"cli", "oltp", "rawio", "results"}) {
    const auto root = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".cpp" || entry.path().filename() == "warning.cpp") continue;
      std::ifstream in(entry.path());
      sources.append(std::istreambuf_iterator<char>(in), {});
    }
  }
  for (const auto& kind : warning_kinds()) {
    INFO(kind.id);
    CHECK(sources.find('"' + std::string(kind.id) + '"') != std::string::npos);
  }
}
