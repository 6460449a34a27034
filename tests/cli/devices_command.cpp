// `plimsoll devices` as a user runs it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/lab/block_devices.h"

using namespace plimsoll;

namespace {

struct Outcome {
  int code = -1;
  std::string text;
};

Outcome run_devices(const std::string& arguments, const std::string& before = "") {
  const std::string command = before + PLIMSOLL_BINARY " devices " + arguments + " 2>/dev/null";
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  char buffer[4096];
  while (const std::size_t got = fread(buffer, 1, sizeof buffer, pipe)) {
    outcome.text.append(buffer, got);
  }
  outcome.code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

nlohmann::json device_in(const Outcome& outcome, const std::string& name) {
  CHECK(outcome.code == 0);
  const auto json = nlohmann::json::parse(outcome.text);
  for (const auto& device : json["devices"]) {
    if (device["name"] == name) return device;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("devices --json tells an empty, a formatted and a mounted device apart") {
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.sector_bytes = 4096});
  if (!loop) return;
  const auto empty = device_in(run_devices("--json"), loop->name());
  REQUIRE(empty.is_object());
  CHECK(empty["erasable"] == "yes");
  CHECK(empty["logical_sector_bytes"] == 4096);
  CHECK(empty["size_bytes"] == 64u << 20);
  CHECK(empty["signatures"].empty());
  CHECK(empty["model"].is_null());
  CHECK(empty["erase_name"] == loop->name());

  if (!lab::has_program("mkfs.ext4")) return;
  REQUIRE(lab::run_program({"mkfs.ext4", "-q", "-F", loop->node()}) == 0);
  const auto formatted = device_in(run_devices("--json"), loop->name());
  CHECK(formatted["erasable"] == "when named");
  CHECK(formatted["signatures"][0]["type"] == "ext4");

  auto mount = lab::make<lab::Ext4Mount>(loop->node());
  if (!mount) return;
  const auto mounted = device_in(run_devices("--json"), loop->name());
  CHECK(mounted["erasable"] == "no");
  CHECK(mounted["file_systems"][0]["mount_point"] == mount->path().string());
}

TEST_CASE("the table of devices stays within 80 columns and says how to erase") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const auto outcome = run_devices("");
  CHECK(outcome.code == 0);
  std::istringstream lines(outcome.text);
  for (std::string line; std::getline(lines, line);) {
    // A single word, such as a path, may be longer than a line.
    if (line.find(' ', 21) != std::string::npos) CHECK(line.size() <= 80);
  }
  CHECK(outcome.text.find(loop->name()) != std::string::npos);
  CHECK(outcome.text.find("yes, with --erase") != std::string::npos);
}

TEST_CASE("devices works without root and says what it can't see") {
  if (geteuid() != 0 || !lab::has_program("setpriv")) {
    std::cout << "SKIPPED: devices without root: needs root and setpriv to become another user"
              << std::endl;
    return;
  }
  if (lab::run_program(
          {"setpriv", "--reuid=65534", "--clear-groups", PLIMSOLL_BINARY, "--version"}) != 0) {
    std::cout << "SKIPPED: devices without root: the build can't be read by nobody" << std::endl;
    return;
  }
  const auto outcome = run_devices("--json", "setpriv --reuid=65534 --clear-groups ");
  CHECK(outcome.code == 0);
  const auto json = nlohmann::json::parse(outcome.text);
  CHECK(json["warnings"][0]["id"] == "facility-missing");
}
