// plimsoll raw as a user calls it: exit codes, one line that names the mend, no leftovers.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "results/record/record.h"
#include "tests/catch.h"
#include "tests/cli/folders.h"
#include "tests/lab/block_devices.h"
#include "tests/lab/process.h"
#include "tests/lab/temp_dir.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

// A folder on a real file system to test, and one in memory for records.
lab::ProcessResult raw(std::vector<std::string> arguments,
                       const lab::ProcessOptions& options = {}) {
  arguments.insert(arguments.begin(), {PLIMSOLL_BINARY, "raw"});
  return lab::run_process(arguments, options);
}

void check_refused(const lab::ProcessResult& result, int exit_code, const std::string& words) {
  INFO(result.err);
  CHECK(result.exit_code == exit_code);
  CHECK_THAT(result.err, ContainsSubstring(words));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(result.out.empty());
}

}  // namespace

TEST_CASE("raw prints one JSON object, alone on standard output") {
  const Folders folders;
  const auto result = raw({folders.drive.path(), "--size", "4m", "--bytes", "1m", "--rw", "randrw",
                           "--fsync", "10", "--json", "--quiet", "--out", folders.out()});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json.at("command") == "raw");
  const auto& operations = json.at("operations");
  CHECK(operations.at("read").at("count").get<int>() +
            operations.at("write").at("count").get<int>() ==
        256);
  CHECK(operations.at("flush").at("count").get<int>() > 0);
  CHECK(operations.at("read").at("service_ns").at("p99").get<double>() > 0);
  CHECK(json.at("asked_rate").is_null());
  const auto& health = json.at("environment").at("health");
  REQUIRE(health.size() == 1);  // of the drive beneath the folder
  CHECK(health.at(0).contains("before"));
  CHECK(health.at(0).at("change").contains("host_written_bytes"));
  CHECK(folders.drive_is_empty());
}

TEST_CASE("raw's summary fits in 80 columns") {
  const Folders folders;
  const auto result = raw({folders.drive.path(), "--size", "4m", "--time", "200ms", "--rate",
                           "500/s", "--out", folders.out()});
  INFO(result.out);
  REQUIRE(result.exit_code == 0);
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);)
    CHECK((line.size() <= 100 || line.starts_with("Repeat")));
  CHECK_THAT(result.out, ContainsSubstring("read"));
}

TEST_CASE("raw refuses bad input in one line, with its exit code") {
  const Folders folders;
  const std::string dir = folders.drive.path();
  check_refused(raw({dir, "--engine", "posixaio"}), 2, "--engine");
  check_refused(raw({dir, "--bs", "4q"}), 2, "--bs");
  check_refused(raw({dir, "--time", "soon"}), 2, "--runtime");
  check_refused(raw({dir, "--iodpeth", "4"}), 2, "--iodepth");
  check_refused(raw({dir, "--bssplit", "8k"}), 2, "8k/70:64k/30");
  check_refused(raw({dir, "--arrivals", "poisson"}), 2, "--rate");
  check_refused(raw({dir, "--engine", "psync", "--depth", "4", "--size", "4m"}), 2, "--jobs");
  check_refused(raw({dir, "--fsync", "1", "--size", "4m"}), 2, "--rw write");
  check_refused(raw({dir, "--verify", "--size", "4m"}), 2, "--rw write");
  check_refused(raw({dir, "--distribution", "zipf:x"}), 2, "zipf:1.1");
  check_refused(raw({dir, "--stride", "8k"}), 2, "--rw read");
  check_refused(raw({dir, "--cpus", "0-", "--size", "4m"}), 2, "0,2-5");
  check_refused(raw({dir, "--sqpoll", "--engine", "libaio", "--size", "4m"}), 2, "io_uring");
  check_refused(raw({"/nowhere/at/all"}), 2, "/nowhere/at/all");
  check_refused(raw({dir, "--size", "1024t"}), 3, "--size");
  check_refused(raw({"/dev/shm"}), 3, "--accept no-direct-io");
  CHECK(folders.drive_is_empty());
}

TEST_CASE("raw writes to no block device without --erase") {
  const auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const Folders folders;
  check_refused(raw({loop->node(), "--rw", "randwrite"}), 3, "--erase");
  const auto result = raw({loop->node(), "--rw", "randwrite", "--erase", "--bytes", "1m", "--quiet",
                           "--out", folders.out()});
  INFO(result.err);
  CHECK(result.exit_code == 0);
}

TEST_CASE("raw --verify fails with 1 on a drive that loses a write, and names the block",
          "[slow]") {
  const lab::DeviceDir dir;
  const auto store = (dir.path() / "store").string();
  std::ofstream(store) << "";
  fs::resize_file(store, 1 << 20);
  lab::NbdkitOptions options;
  options.plugin = {"eval"};
  options.parameters = {
      "get_size=echo 1048576",
      "pread=dd iflag=skip_bytes,count_bytes if=" + store + " skip=$4 count=$3",
      "pwrite=[ $4 = 65536 ] && exec cat >/dev/null; dd oflag=seek_bytes conv=notrunc of=" + store +
          " seek=$4"};
  const auto device = lab::make<lab::NbdkitDevice>(options);
  if (!device) return;
  const Folders folders;
  const auto result = raw({device->node(), "--rw", "write", "--erase", "--bytes", "256k",
                           "--verify", "--depth", "4", "--quiet", "--out", folders.out()});
  INFO(result.err);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.out, ContainsSubstring("fail: 1 of 64 blocks"));
  CHECK_THAT(result.out, ContainsSubstring("offset 65536"));
}

TEST_CASE("raw runs a preset as it stands, on one target or several") {
  const Folders folders;
  const lab::TempDir other;
  const auto result =
      raw({folders.drive.path(), other.path(), "--size", "40m", "--preset", "postgresql", "--time",
           "300ms", "--json", "--quiet", "--out", folders.out()});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  for (const char* operation : {"read", "write", "flush"}) {
    CHECK(json.at("operations").at(operation).at("count").get<int>() > 0);
  }
  const auto& streams = json.at("spec").at("streams");
  CHECK(streams.size() == 6);
  CHECK(streams.at(3).at("target") == 1);
  CHECK(streams.at(3).at("name") == "wal");
  check_refused(raw({folders.drive.path(), "--preset", "postgresql", "--bs", "8k"}), 2, "--preset");
  check_refused(raw({folders.drive.path(), "--preset", "oracle"}), 2, "innodb-redo");
  CHECK(folders.drive_is_empty());
}

TEST_CASE("a rate over several targets is shared by them") {
  const Folders folders;
  const lab::TempDir other;
  const auto result = raw({folders.drive.path(), other.path(), "--size", "4m", "--rate", "400/s",
                           "--time", "500ms", "--json", "--quiet", "--out", folders.out()});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json.at("asked_rate") == 400);
  CHECK(json.at("operations").at("read").at("count").get<double>() == Approx(200).margin(4));
}

TEST_CASE("raw runs a fio job, group after group, and what it wrote can be exported", "[slow]") {
  const Folders folders;
  const auto job = (folders.results.path() / "job.fio").string();
  std::ofstream(job) << "[global]\nsize=4m\nruntime=300ms\ntime_based\nioengine=libaio\n"
                        "[first]\nrw=randrw\niodepth=8\nnumjobs=2\n"
                        "[second]\nstonewall\nrw=write\nbs=64k\nfdatasync=4\n";
  const auto result =
      raw({folders.drive.path(), "--job", job, "--json", "--quiet", "--out", folders.out()});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const auto parts = nlohmann::json::parse(result.out).at("parts");
  REQUIRE(parts.size() == 2);
  CHECK(parts.at(0).at("operations").at("read").at("count").get<int>() > 0);
  CHECK(parts.at(1).at("operations").at("flush").at("count").get<int>() > 0);
  CHECK(folders.drive_is_empty());
  const auto shown = lab::run_process({PLIMSOLL_BINARY, "show", folders.out()});
  CHECK_THAT(shown.out, ContainsSubstring("second"));

  std::ofstream(job) << "[a]\nsize=4m\nrw=read\nverify=crc32c\n";
  check_refused(raw({folders.drive.path(), "--job", job}), 2, "job.fio:4: the option verify");
  check_refused(raw({"--job", job + "x"}), 2, "can't read");
  check_refused(raw({folders.drive.path(), "--job", job, "--bs", "8k"}), 2, "--job");
  check_refused(raw({}), 2, "TARGET");
}

TEST_CASE("raw's JSON stays one object when the drive fails, and the errors are in it", "[slow]") {
  lab::NbdkitOptions options;
  options.filters = {"error"};
  options.parameters = {"error-pread-rate=10%"};
  const auto device = lab::make<lab::NbdkitDevice>(options);
  if (!device) return;
  const Folders folders;
  const auto counted = raw({device->node(), "--time", "300ms", "--depth", "4", "--on-error",
                            "count", "--json", "--out", folders.out()});
  CHECK(counted.exit_code == 0);
  const auto json = nlohmann::json::parse(counted.out);
  CHECK(json.at("operations").at("read").at("errors").get<int>() > 0);
  CHECK(json.at("verdict") == "invalid");
  const auto stopped = raw({device->node(), "--time", "30s", "--depth", "4", "--json", "--quiet",
                            "--out", (folders.results.path() / "stopped").string()});
  CHECK(stopped.exit_code == 4);
  CHECK_NOTHROW(nlohmann::json::parse(stopped.out));
  CHECK_THAT(stopped.err, ContainsSubstring("(EIO)"));
  CHECK_THAT(stopped.err, ContainsSubstring("offset"));
}

TEST_CASE("raw works on a drive of 4096-byte sectors, and refuses smaller blocks there") {
  const auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.sector_bytes = 4096});
  if (!loop) return;
  const Folders folders;
  const auto result = raw({loop->node(), "--rw", "randrw", "--erase", "--bytes", "1m", "--verify",
                           "--quiet", "--out", folders.out()});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  check_refused(raw({loop->node(), "--bs", "512"}), 2, "4096-byte sectors");
}

TEST_CASE("raw doesn't write its record over another") {
  const Folders folders;
  const std::vector<std::string> arguments = {
      folders.drive.path(), "--size", "4m", "--bytes", "1m", "--quiet", "--out", folders.out()};
  REQUIRE(raw(arguments).exit_code == 0);
  check_refused(raw(arguments), 2, "--out");
}

TEST_CASE("an interrupted raw run ends with 130, a readable record and no leftovers", "[slow]") {
  const Folders folders;
  lab::ProcessOptions interrupt;
  interrupt.kill_signal = SIGINT;
  interrupt.kill_after = std::chrono::milliseconds(1500);
  const auto result = raw({folders.drive.path(), "--size", "4m", "--time", "60s", "--interval",
                           "100ms", "--quiet", "--out", folders.out()},
                          interrupt);
  INFO(result.err);
  CHECK(result.exit_code == 130);
  CHECK(folders.drive_is_empty());
  const auto record = Record::open(folders.out());
  REQUIRE(record.parts().size() == 1);
  CHECK(record.total(record.parts().front(), "raw", "read").count > 0);
}

TEST_CASE("a raw run killed by SIGKILL leaves nothing on the drive", "[slow]") {
  const Folders folders;
  lab::ProcessOptions kill;
  kill.kill_signal = SIGKILL;
  kill.kill_after = std::chrono::milliseconds(1000);
  const auto result = raw({folders.drive.path(), "--size", "4m", "--time", "60s", "--interval",
                           "100ms", "--quiet", "--out", folders.out()},
                          kill);
  CHECK(result.signal == SIGKILL);
  CHECK(folders.drive_is_empty());
  const auto record = Record::open(folders.out());
  CHECK(record.total(record.parts().front(), "raw", "read").count > 0);
}
