// The whole job on a real folder and on a real block device, and every way it can be cut short.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/catch.h"
#include "tests/cli/folders.h"
#include "tests/lab/block_devices.h"
#include "tests/lab/process.h"
#include "tests/lab/temp_dir.h"

namespace plimsoll {
namespace {
namespace fs = std::filesystem;

// A qualification of a few seconds.
std::vector<std::string> short_run(const std::string& target, const std::string& out) {
  return {PLIMSOLL_BINARY,
          "qualify",
          target,
          "--profile",
          "smoke",
          "--size",
          "16m",
          "--raw-time",
          "200ms",
          "--time",
          "2s",
          "--warmup",
          "1s",
          "--tables",
          "1",
          "--out",
          out,
          "--quiet",
          "--table-size",
          "2000"};
}

lab::ProcessResult qualify(std::vector<std::string> arguments,
                           const std::vector<std::string>& more = {},
                           const lab::ProcessOptions& options = {}) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return lab::run_process(arguments, options);
}

lab::ProcessOptions signal_after(int signal, std::int64_t delay_ms) {
  lab::ProcessOptions options;
  options.kill_signal = signal;
  options.kill_after = std::chrono::milliseconds(delay_ms);
  return options;
}

std::set<std::string> kinds_of_parts(const nlohmann::json& run) {
  std::set<std::string> kinds;
  for (const char* key : {"raw", "oltp"}) {
    for (const auto& part : run.at(key)) kinds.insert(part.at("kind"));
  }
  if (!run.at("load").is_null()) kinds.insert("load");
  return kinds;
}

void check_whole(const nlohmann::json& run) {
  CHECK(run.at("command") == "qualify");
  CHECK(run.at("finished") == true);
  CHECK(run.at("verdict") == "none");
  CHECK(kinds_of_parts(run) == std::set<std::string>{"raw", "load", "oltp"});
  CHECK(run.at("raw").size() == 7);
  for (const auto& part : run.at("raw")) {
    INFO(part.at("name"));
    for (const auto& [name, operation] : part.at("operations").items()) {
      CHECK(operation.at("count").get<double>() > 0);
      CHECK(operation.at("response_ns").at("p50").get<double>() > 0);
    }
    CHECK(part.at("device").is_object());
  }
  REQUIRE(run.at("oltp").size() == 2);
  for (const auto& part : run.at("oltp")) {
    CHECK(part.at("tps").get<double>() > 0);
    CHECK(part.at("failed") == 0);
    CHECK(part.at("device").at("writes").get<double>() > 0);
  }
}

TEST_CASE("qualify goes from raw I/O to a report and leaves nothing on the drive", "[slow]") {
  const Folders folders;
  const auto result = qualify(short_run(folders.drive.path(), folders.out()), {"--json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  check_whole(nlohmann::json::parse(result.out));
  CHECK(folders.drive_is_empty());
  CHECK(fs::exists(fs::path(folders.out()) / "report.html"));
}

TEST_CASE("qualify's summary fits in 80 columns and says that the database fits in memory",
          "[slow]") {
  const Folders folders;
  const auto result = qualify(short_run(folders.drive.path(), folders.out()));
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.out, ContainsSubstring("fits in the memory it has"));
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    if (line.rfind("Record", 0) != 0 && line.rfind("Repeat", 0) != 0) CHECK(line.size() <= 90);
  }
}

TEST_CASE("qualify erases a block device only when asked, and leaves no file system on it",
          "[slow]") {
  const auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.size_bytes = 256u << 20});
  if (!loop) return;
  const Folders folders;
  const auto refused = qualify(short_run(loop->node(), folders.out()));
  CHECK(refused.exit_code == 3);
  CHECK_THAT(refused.err, ContainsSubstring("--erase"));
  const auto result = qualify(short_run(loop->node(), folders.out()), {"--erase", "--json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  check_whole(nlohmann::json::parse(result.out));
  lab::TempDir again;
  const auto second =
      qualify(short_run(loop->node(), (again.path() / "run").string()), {"--erase", "--json"});
  INFO(second.err);
  CHECK(second.exit_code == 0);
}

// The part that was under way when the signal came: each is reached within the time given.
void check_interrupted_after(std::int64_t delay_ms, int signal) {
  INFO("after " << delay_ms << " ms");
  const Folders folders;
  auto options = signal_after(signal, delay_ms);
  options.kill_counts_from = fs::path(folders.out()) / "record.db";
  const auto result = qualify(short_run(folders.drive.path(), folders.out()), {"--json"}, options);
  INFO(result.err);
  CHECK(result.exit_code == 130);
  const auto run = nlohmann::json::parse(result.out);
  CHECK(run.at("finished") == true);
  CHECK(run.at("warnings").dump().find("interrupted") != std::string::npos);
  CHECK(folders.drive_is_empty());
}

TEST_CASE("Ctrl-C in each phase of qualify ends it with 130 and nothing left behind", "[slow]") {
  for (const std::int64_t delay_ms : {0, 500, 2000, 4000, 5500, 7500, 9000}) {
    check_interrupted_after(delay_ms, SIGINT);
  }
}

TEST_CASE("what a killed qualify left on the drive is removed by the next", "[slow]") {
  const Folders folders;
  const auto killed =
      qualify(short_run(folders.drive.path(), folders.out()), {}, signal_after(SIGKILL, 8000));
  CHECK(killed.signal == SIGKILL);
  const auto shown = lab::run_process({PLIMSOLL_BINARY, "show", folders.out(), "--json"});
  INFO(shown.err);
  REQUIRE(shown.exit_code == 0);
  CHECK(nlohmann::json::parse(shown.out).at("finished") == false);
  lab::TempDir again;
  const auto next = qualify(short_run(folders.drive.path(), (again.path() / "run").string()));
  CHECK(next.exit_code == 0);
  CHECK(folders.drive_is_empty());
}

TEST_CASE("the file system that a killed qualify left on a device is named with its mend",
          "[slow]") {
  const auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.size_bytes = 256u << 20});
  if (!loop) return;
  const Folders folders;
  auto options = signal_after(SIGKILL, 2000);
  options.kill_counts_from = fs::path(folders.out()) / "mounted-drive";
  const auto killed = qualify(short_run(loop->node(), folders.out()), {"--erase"}, options);
  CHECK(killed.signal == SIGKILL);
  const lab::DeviceDir again;
  const auto next = qualify(short_run(loop->node(), (again.path() / "run").string()), {"--erase"});
  INFO(next.err);
  CHECK(next.exit_code == 3);
  CHECK_THAT(next.err, ContainsSubstring("killed qualify left (`wipefs -a " + loop->node()));
}

TEST_CASE("qualify refuses bad input in one line, with its exit code") {
  const Folders folders;
  const auto check = [&](const std::string& target, const std::vector<std::string>& more,
                         int exit_code, const std::string& words) {
    const auto result = qualify(short_run(target, folders.out()), more);
    INFO(result.err);
    CHECK(result.exit_code == exit_code);
    CHECK_THAT(result.err, ContainsSubstring(words));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  };
  check("/nowhere/at/all", {}, 2, "/nowhere/at/all");
  check("/dev/shm", {}, 3, "tmpfs");
  check(folders.drive.path(), {"--profile", "fast"}, 2, "smoke, quick, full");
  check(folders.drive.path(), {"--time", "soon"}, 2, "--time");
  check(folders.drive.path(), {"--size", "many"}, 2, "--size");
  check(folders.drive.path(), {"--tabels", "3"}, 2, "--tables");
  check(folders.drive.path(), {"--threads", "0"}, 2, "--threads");
  const lab::TempDir other;
  std::ofstream(other.path() / "file") << "x";
  check(other.path() / "file", {}, 2, "folder");
}

TEST_CASE("two qualifications can't share a folder") {
  const Folders folders;
  fs::create_directories(folders.out());
  std::ofstream(fs::path(folders.out()) / "record.db") << "another's";
  const auto result = qualify(short_run(folders.drive.path(), folders.out()));
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(folders.drive_is_empty());
}

}  // namespace
}  // namespace plimsoll
