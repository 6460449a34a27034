// `plimsoll observe` and `plimsoll doctor` as a user runs them.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "rawio/device/observer.h"
#include "results/record/record.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"

using namespace plimsoll;
using nlohmann::json;

namespace {

std::vector<std::string> observe(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{PLIMSOLL_BINARY, "observe"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

void read_directly(const std::string& node, int blocks) {
  const auto done = lab::run_process({"dd", "if=" + node, "of=/dev/null", "bs=4096", "iflag=direct",
                                      "count=" + std::to_string(blocks)});
  REQUIRE(done.exit_code == 0);
}

bool wait_for_observer(const std::filesystem::path& dir) {
  for (int tries = 0; tries < 200; ++tries) {
    try {
      const Record record = Record::open(dir);
      if (!record.parts().empty() && !record.sources(record.parts().front()).empty()) return true;
    } catch (const Error&) {
    }
    usleep(25'000);
  }
  return false;
}

const json* device_named(const json& run, const std::string& name) {
  for (const auto& device : run["devices"]) {
    if (device["name"] == name) return &device;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("observe counts what others do, and Ctrl-C without --for is its end", "[slow]") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  lab::TempDir dir;
  const auto out = dir.free_path("run");
  const auto file = dir.free_path("summary");
  const int summary = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  lab::Process observer(
      observe({loop->node(), "--interval", "100ms", "--json", "--quiet", "--out", out.string()}),
      {}, summary);
  REQUIRE(wait_for_observer(out));
  read_directly(loop->node(), 300);
  usleep(150'000);
  observer.send(SIGINT);
  const auto status = observer.wait(std::chrono::milliseconds(10'000));
  close(summary);
  REQUIRE(status);
  CHECK(WIFEXITED(*status));
  CHECK(WEXITSTATUS(*status) == 0);
  const auto run = json::parse(lab::read_text(file));
  const auto* device = device_named(run, loop->name());
  REQUIRE(device);
  const auto& read = (*device)["operations"]["read"];
  CHECK(read["count"] >= 300);
  CHECK(run["environment"]["observer"]["name"].is_string());
  if (run["environment"]["observer"]["name"] == "bpf") {
    CHECK(read["d2c_ns"]["count"] == read["count"]);
    CHECK(read["d2c_ns"]["p50"] > 0);
  }
  CHECK(Record::open(out).finished());
}

TEST_CASE("observe --for ends by itself", "[slow]") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  lab::TempDir dir;
  const auto done = lab::run_process(
      observe({loop->node(), "--for", "1s", "--out", dir.free_path("run").string()}));
  CHECK(done.exit_code == 0);
  CHECK(done.out.find(loop->name()) != std::string::npos);
}

TEST_CASE("observe without privilege falls back and says so", "[slow]") {
  if (geteuid() != 0 || !lab::has_program("setpriv")) return lab::skip("needs root and setpriv");
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  lab::TempDir dir;
  std::filesystem::permissions(dir.path(), std::filesystem::perms::all);
  std::vector<std::string> argv{"setpriv", "--reuid=65534", "--clear-groups"};
  const auto command =
      observe({loop->node(), "--for", "1s", "--json", "--out", (dir.path() / "run")});
  argv.insert(argv.end(), command.begin(), command.end());
  const auto done = lab::run_process(argv);
  INFO(done.err);
  if (done.exit_code == 126 || done.err.find("ermission") != std::string::npos) {
    return lab::skip("another user may not run the program in its build folder");
  }
  REQUIRE(done.exit_code == 0);
  const auto run = json::parse(done.out);
  CHECK(run["environment"]["observer"]["name"] == "stat");
  const auto& missed = run["environment"]["observer"]["missed"];
  REQUIRE(missed.size() == 2);
  CHECK(missed[0]["why"].get<std::string>().find("root") != std::string::npos);
}

TEST_CASE("observe of what isn't there is one line and exit code 2") {
  const auto done = lab::run_process(observe({"/dev/nosuchdisk"}));
  CHECK(done.exit_code == 2);
  CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
  CHECK(done.err.find("nosuchdisk") != std::string::npos);
}

TEST_CASE("doctor names every observer and the first that is there is the best") {
  const auto done = lab::run_process({PLIMSOLL_BINARY, "doctor", "--json"});
  REQUIRE(done.exit_code == 0);
  const auto report = json::parse(done.out);
  std::vector<std::string> observers;
  for (const auto& finding : report["findings"]) {
    CHECK_FALSE(finding["text"].get<std::string>().empty());
    if (finding["area"] != "observer") continue;
    observers.push_back(finding["name"]);
    for (const auto& kind : observer_kinds()) {
      if (kind.name != observers.back()) continue;
      CHECK(finding["there"] == kind.obstacle().empty());
    }
  }
  CHECK(observers == std::vector<std::string>{"bpf", "trace", "stat"});
}
