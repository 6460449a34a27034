// plimsoll export: formats that other tools read.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/folders.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

lab::ProcessResult plimsoll_run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PLIMSOLL_BINARY);
  return lab::run_process(arguments);
}

// A short run whose record is in folders.out().
void make_run(const Folders& folders) {
  const auto result =
      plimsoll_run({"raw", folders.drive.path(), "--size", "4m", "--rw", "randrw", "--engine",
                    "libaio", "--depth", "4", "--fsync", "50", "--time", "400ms", "--interval",
                    "100ms", "--quiet", "--out", folders.out()});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
}

// Every key of `wanted`, in all depths, is in `found` with a value of the same kind. `path` names
// it in failures.
void check_shape(const nlohmann::json& wanted, const nlohmann::json& found,
                 const std::string& path) {
  for (const auto& [key, value] : wanted.items()) {
    INFO(path << "." << key);
    REQUIRE(found.contains(key));
    const auto& other = found.at(key);
    CHECK((value.is_number() ? other.is_number() : value.type() == other.type()));
    if (value.is_object() && key != "job options" && key != "bins") {
      check_shape(value, other, path + "." + key);
    }
  }
}

}  // namespace

TEST_CASE("the fio-json export has all that fio's own has, and the record's figures", "[slow]") {
  const Folders folders;
  make_run(folders);
  const auto result = plimsoll_run({"export", folders.out(), "--format", "fio-json"});
  REQUIRE(result.exit_code == 0);
  const auto exported = nlohmann::json::parse(result.out);
  const auto shown = nlohmann::json::parse(plimsoll_run({"show", folders.out(), "--json"}).out);
  const auto& job = exported.at("jobs").at(0);
  const auto& read = shown.at("operations").at("read");
  CHECK(job.at("read").at("iops").get<double>() == Approx(read.at("iops").get<double>()));
  CHECK(job.at("read").at("total_ios") == read.at("count"));
  CHECK(job.at("read").at("clat_ns").at("percentile").at("99.000000") ==
        read.at("service_ns").at("p99"));
  CHECK(job.at("sync").at("total_ios") == shown.at("operations").at("flush").at("count"));
  double within = 0;
  for (const char* unit : {"latency_ns", "latency_us", "latency_ms"}) {
    for (const auto& share : job.at(unit)) within += share.get<double>();
  }
  CHECK(within == Approx(100).margin(0.01));

  if (!lab::has_program("fio")) return lab::skip("no fio here");
  const auto fio = lab::run_process(
      {"fio", "--name=x", "--filename=" + (folders.drive.path() / "f").string(), "--size=4m",
       "--rw=randrw", "--direct=1", "--ioengine=libaio", "--iodepth=4", "--fsync=50",
       "--time_based", "--runtime=1", "--output-format=json+"});
  REQUIRE(fio.exit_code == 0);
  auto own = nlohmann::json::parse(fio.out).at("jobs").at(0);
  for (const char* uncounted : {"iodepth_level", "iodepth_submit", "iodepth_complete"}) {
    own.erase(uncounted);
  }
  check_shape(own, job, "jobs[0]");
}

TEST_CASE("fio's own reader takes the fio-json export", "[slow]") {
  if (!lab::has_program("fio_jsonplus_clat2csv")) return lab::skip("no fio_jsonplus_clat2csv here");
  const Folders folders;
  make_run(folders);
  const auto json = (folders.results.path() / "run.json").string();
  REQUIRE(plimsoll_run({"export", folders.out(), "--format", "fio-json", "--to", json}).exit_code ==
          0);
  const auto csv = (folders.results.path() / "run.csv").string();
  REQUIRE(lab::run_process({"fio_jsonplus_clat2csv", json, csv}).exit_code == 0);
  const auto read = lab::run_process({"fio_jsonplus_clat2csv", json, csv, "--validate"});
  INFO(read.out << read.err);
  CHECK(read.exit_code == 0);
  CHECK_THAT(read.out, ContainsSubstring("validated"));
}

TEST_CASE("a run exported as a fio job repeats itself", "[slow]") {
  const Folders folders;
  make_run(folders);
  const auto job = (folders.results.path() / "run.fio").string();
  REQUIRE(plimsoll_run({"export", folders.out(), "--format", "fio-job", "--to", job}).exit_code ==
          0);
  const auto out = (folders.results.path() / "again").string();
  const auto again =
      plimsoll_run({"raw", "--job", job, "--interval", "100ms", "--quiet", "--json", "--out", out});
  INFO(again.err);
  REQUIRE(again.exit_code == 0);
  const auto first = nlohmann::json::parse(plimsoll_run({"show", folders.out(), "--json"}).out);
  auto spec = first.at("spec");
  auto repeated = nlohmann::json::parse(again.out).at("spec");
  // The file that was made had the size asked; a job has to say so.
  spec["streams"][0].erase("span_bytes");
  repeated["streams"][0].erase("span_bytes");
  CHECK(repeated == spec);
}

TEST_CASE("export refuses what isn't there") {
  const auto result = plimsoll_run({"export", "/nowhere/at/all"});
  CHECK(result.exit_code == 2);
  CHECK(plimsoll_run({"export", "latest", "--format", "xlsx"}).exit_code == 2);
}
