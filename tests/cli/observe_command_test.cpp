// `plimsoll observe` and `plimsoll doctor` as a user runs them.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
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

bool has_warning(const Record& record, const std::string& id) {
  for (const auto& warning : record.warnings()) {
    if (warning.id == id) return true;
  }
  return false;
}

// Ids of the kernel programs that a process holds.
std::vector<std::string> programs_of(pid_t process) {
  std::vector<std::string> ids;
  const auto folder = std::filesystem::path("/proc") / std::to_string(process) / "fdinfo";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream info(entry.path());
    for (std::string word; info >> word;) {
      if (word == "prog_id:" && info >> word) ids.push_back(word);
    }
  }
  return ids;
}

bool is_loaded(const std::string& program) {
  return lab::run_process({"bpftool", "prog", "show", "id", program}).exit_code == 0;
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

TEST_CASE("a device that is detached while it is observed ends its series, not the run", "[slow]") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  lab::TempDir dir;
  const auto out = dir.free_path("run");
  lab::Process observer(observe(
      {loop->node(), "--for", "3s", "--interval", "100ms", "--quiet", "--out", out.string()}));
  REQUIRE(wait_for_observer(out));
  loop->detach();
  std::filesystem::path gone("/sys/block/" + loop->name() + "/loop");
  CHECK_FALSE(std::filesystem::exists(gone));
  const auto status = observer.wait(std::chrono::milliseconds(20'000));
  REQUIRE(status);
  CHECK(WIFEXITED(*status));
  CHECK(WEXITSTATUS(*status) == 0);
  CHECK(has_warning(Record::open(out), "device-vanished"));
}

TEST_CASE("Ctrl-C leaves none of the observer's programs in the kernel", "[slow]") {
  if (!lab::has_program("bpftool")) return lab::skip("no bpftool in PATH");
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  lab::TempDir dir;
  const auto out = dir.free_path("run");
  lab::Process observer(
      observe({loop->node(), "--interval", "100ms", "--quiet", "--out", out.string()}));
  REQUIRE(wait_for_observer(out));
  const auto programs = programs_of(observer.pid());
  if (programs.empty()) return lab::skip("this machine has no eBPF observer");
  for (const auto& id : programs) CHECK(is_loaded(id));
  observer.send(SIGINT);
  REQUIRE(observer.wait(std::chrono::milliseconds(10'000)));
  usleep(500'000);  // the kernel frees them after a grace period
  for (const auto& id : programs) CHECK_FALSE(is_loaded(id));
}

TEST_CASE("a raw run says how much of the drive's work was others'", "[slow]") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  lab::TempDir dir;
  const auto out = dir.free_path("run");
  const lab::Process other({"sh", "-c",
                            "while dd if=" + loop->node() +
                                " of=/dev/null bs=4096 iflag=direct count=500 2>/dev/null; do :; "
                                "done"});
  const auto done =
      lab::run_process({PLIMSOLL_BINARY, "raw", loop->node(), "--rw", "randread", "--rate", "500/s",
                        "--time", "1s", "--json", "--quiet", "--out", out.string()});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  const auto run = json::parse(done.out);
  if (run["environment"]["observer"]["name"] != "bpf") return lab::skip("needs eBPF");
  CHECK(has_warning(Record::open(out), "shared-drive"));
  CHECK(run["device"]["read_d2c_ns"]["count"] == run["device"]["reads"]);
  CHECK(run["device"]["reads"] > run["operations"]["read"]["count"]);
}

TEST_CASE("doctor says when a device keeps no statistics, and what brings them") {
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.iostats = false});
  if (!loop) return;
  const auto done = lab::run_process({PLIMSOLL_BINARY, "doctor", loop->node()});
  CHECK(done.exit_code == 0);
  CHECK(done.out.find("echo 1 > /sys/block/" + loop->name() + "/queue/iostats") !=
        std::string::npos);
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
