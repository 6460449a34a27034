// A workload on real devices, and what the record says of it.
#include <cmath>
#include <fstream>
#include <thread>

#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"
#include "tests/rawio/raw_lab.h"

using namespace plimsoll;
using namespace plimsoll::test;
namespace fs = std::filesystem;

namespace {

// The kernel's own counts: columns of /sys/block/NAME/stat.
struct KernelCounts {
  std::uint64_t reads, read_merges, read_sectors, read_ms, writes, write_merges, write_sectors;
};

KernelCounts kernel_counts(const std::string& name) {
  std::ifstream stat("/sys/block/" + name + "/stat");
  KernelCounts counts{};
  stat >> counts.reads >> counts.read_merges >> counts.read_sectors >> counts.read_ms >>
      counts.writes >> counts.write_merges >> counts.write_sectors;
  return counts;
}

// Flush requests that the drive has finished: the 16th column.
std::uint64_t kernel_flushes(const std::string& name) {
  std::ifstream stat("/sys/block/" + name + "/stat");
  std::uint64_t column = 0;
  for (int i = 0; i < 16; ++i) stat >> column;
  return column;
}

TargetOptions erasable(const std::string& node) {
  TargetOptions options;
  options.path = node;
  options.writes = true;
  options.erase.erase = true;
  options.erase.results_dir = "/dev/shm";
  return options;
}

// p50 of fio's whole latency (with the submit call, as Plimsoll's service time has it), by the same
// engine, 4 KiB at depth 1 for a second.
double fio_p50_ns(const std::string& node, const std::string& engine, const std::string& rw) {
  const auto result =
      lab::run_process({"fio", "--name=x", "--filename=" + node, "--rw=" + rw, "--bs=4k",
                        "--direct=1", "--ioengine=" + engine, "--iodepth=1", "--lat_percentiles=1",
                        "--time_based", "--runtime=1", "--output-format=json"});
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  const auto& side = json.at("jobs").at(0).at(rw == "randread" ? "read" : "write");
  return side.at("lat_ns").at("percentile").at("50.000000");
}

// p50 of Plimsoll's service time in the same way; the counts must be the kernel's.
double own_p50_ns(const lab::NbdkitDevice& device, Record& record, const std::string& engine,
                  const std::string& rw) {
  auto target = RawTarget::open(erasable(device.node()));
  RawTarget* const targets[] = {&target};
  IoWorkload workload;
  workload.engine = engine;
  workload.runtime_ns = 1'000 * kMilli_ns;
  workload.streams.front().read_percent = rw == "randread" ? 100 : 0;
  const auto before = kernel_counts(device.name());
  const auto result = run_raw(workload, targets, record);
  const auto after = kernel_counts(device.name());
  const auto& total = result.totals.at(rw == "randread" ? "read" : "write");
  const auto reads = after.reads - before.reads;
  const auto writes = after.writes - before.writes;
  CHECK((rw == "randread" ? reads : writes) == result.total_count);
  CHECK((rw == "randread" ? writes : reads) == 0);
  const auto sectors = rw == "randread" ? after.read_sectors - before.read_sectors
                                        : after.write_sectors - before.write_sectors;
  CHECK(sectors * 512 == total.bytes);
  CHECK(total.service.mean() * 1e-9 * double(total.count()) / result.measured_s ==
        Approx(1).epsilon(0.01));
  return double(total.service.percentile(50));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Plimsoll and fio alternate on the device. Its delay is a sleep of a process and drifts by several
// percent from second to second when the machine is busy, in fio's eyes too: so Plimsoll's median
// must be within 2 % of what fio saw over the same seconds, from its least to its most.
bool p50_agrees(const lab::NbdkitDevice& device, Record& record, const std::string& engine,
                const std::string& rw) {
  std::vector<double> own;
  std::vector<double> fio;
  for (int pair = 0; pair < 3; ++pair) {
    fio.push_back(fio_p50_ns(device.node(), engine, rw));
    own.push_back(own_p50_ns(device, record, engine, rw));
  }
  const auto [least, most] = std::minmax_element(fio.begin(), fio.end());
  UNSCOPED_INFO("own " << median(own) << ", fio " << *least << " to " << *most);
  return median(own) >= *least * 0.98 && median(own) <= *most * 1.02;
}

}  // namespace

TEST_CASE("a run's intervals hold every I/O of it, warm-up marked") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  for (const auto& kind : engine_kinds()) {
    INFO("engine " << kind.name);
    auto workload = short_workload(std::string(kind.name));
    workload.warm_up_ns = 70 * kMilli_ns;
    workload.streams.front().read_percent = 50;
    workload.streams.front().fdatasync_every = kind.name == "null" ? 0 : 16;
    const auto result = lab.run(workload);
    CHECK_FALSE(result.failure);
    CHECK(result.measured_s == Approx(0.2).margin(0.1));
    std::uint64_t in_record = 0;
    std::uint64_t measured = 0;
    std::int64_t last_end_ns = 0;
    for (const auto& row : lab.record.intervals(result.part, "raw", false)) {
      if (row.operation == "read") {
        if (last_end_ns != 0) CHECK(row.start_ns == last_end_ns);
        last_end_ns = row.end_ns;
      }
      if (row.operation == "flush") continue;
      in_record += row.count;
      if (row.measured) measured += row.count;
    }
    CHECK(in_record == result.total_count);
    CHECK(measured == result.totals.at("read").count() + result.totals.at("write").count());
    CHECK(measured < in_record);
    CHECK(result.iops() * result.measured_s == Approx(double(measured)));
    CHECK(lab.record.total(result.part, "raw", "read").count == result.totals.at("read").count());
  }
}

TEST_CASE("a part's facts are what only the run knew; a closed loop has no asked rate") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  const auto facts = lab.run(short_workload("psync")).part.facts;
  CHECK(facts.at("engine") == "psync");
  CHECK(facts.at("asked_rate").is_null());
  CHECK(facts.at("backlog").is_null());
  CHECK(facts.at("failure").is_null());
  CHECK(facts.at("achieved_rate").get<double>() > 0);
  CHECK(facts.at("cpu").at("system_s").get<double>() > 0);
  CHECK(lab.record.parts().front().facts == facts);
}

TEST_CASE("streams run side by side, each on its own piece and at its own pace") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  auto workload = short_workload("io_uring");
  IoStream log;
  log.name = "log";
  log.pattern = AccessPattern::kSequential;
  log.read_percent = 0;
  log.fdatasync_every = 1;
  log.span_bytes = 1 << 20;
  workload.streams.front().span_offset_bytes = 1 << 20;
  workload.streams.front().jobs = 2;
  workload.streams.push_back(log);
  const auto result = lab.run(workload);
  CHECK(result.totals.at("read").count() > 0);
  CHECK(result.totals.at("write").count() > 0);
  CHECK(result.totals.at("flush").count() == result.totals.at("write").count());
}

TEST_CASE("a synced write reaches the drive before it completes, whichever way it is synced") {
  const auto device = lab::make<lab::LoopDevice>();
  if (!device) return;
  const lab::DeviceDir results;
  auto record = Record::create(results.path() / "run", raw_spec());
  for (const std::string engine : {"psync", "libaio", "io_uring"}) {
    for (const auto sync : {WriteSync::kNone, WriteSync::kOpened, WriteSync::kEach}) {
      INFO("engine " << engine << ", sync " << int(sync));
      auto target = RawTarget::open(erasable(device->node()));
      RawTarget* const targets[] = {&target};
      auto workload = short_workload(engine);
      workload.runtime_ns = 0;
      workload.bytes = 50 * 4096;
      auto& stream = workload.streams.front();
      stream.read_percent = 0;
      stream.write_sync = sync;
      const auto before = kernel_flushes(device->name());
      const auto result = run_raw(workload, targets, record);
      const auto flushes = kernel_flushes(device->name()) - before;
      CHECK(result.total_count == 50);
      CHECK(result.errors == 0);
      if (sync == WriteSync::kNone) CHECK(flushes == 0);
      if (sync != WriteSync::kNone) CHECK(flushes >= 50);
    }
  }
}

TEST_CASE("a stop ends the run soon and keeps what was measured") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  std::stop_source source;
  RunHooks hooks;
  hooks.stop = source.get_token();
  int ticks = 0;
  hooks.on_tick = [&](const Part&, std::int64_t, bool) {
    if (++ticks == 2) source.request_stop();
  };
  auto workload = short_workload("io_uring");
  workload.runtime_ns = 60'000 * kMilli_ns;
  const auto result = lab.run(workload, hooks);
  CHECK(result.interrupted);
  CHECK(result.measured_s < 1);
  CHECK(result.totals.at("read").count() > 0);
  CHECK(lab.record.total(result.part, "raw", "read").count == result.totals.at("read").count());
}

TEST_CASE("p50 is fio's within 2 %, and counts are the kernel's, on a device of known latency",
          "[slow]") {
  if (!lab::has_program("fio")) return lab::skip("no fio here");
  lab::NbdkitOptions nbdkit;
  nbdkit.filters = {"delay"};
  nbdkit.parameters = {"delay-read=2ms", "delay-write=5ms"};
  const auto device = lab::make<lab::NbdkitDevice>(nbdkit);
  if (!device) return;
  const lab::DeviceDir results;
  auto record = Record::create(results.path() / "run", raw_spec());
  for (const std::string rw : {"randread", "randwrite"}) {
    for (const std::string engine : {"psync", "libaio", "io_uring"}) {
      INFO(rw << " by " << engine);
      // A busy machine gets two more chances; an error of the measurement would be in each.
      bool agrees = false;
      for (int chance = 0; chance < 3 && !agrees; ++chance) {
        agrees = p50_agrees(*device, record, engine, rw);
      }
      CHECK(agrees);
    }
  }
}

TEST_CASE("errors of the drive are counted by errno, and end the run unless they are to be counted",
          "[slow]") {
  lab::NbdkitOptions nbdkit;
  nbdkit.filters = {"error"};
  nbdkit.parameters = {"error-pread-rate=10%"};
  const auto device = lab::make<lab::NbdkitDevice>(nbdkit);
  if (!device) return;
  const lab::DeviceDir results;
  auto record = Record::create(results.path() / "run", raw_spec());
  TargetOptions options;
  options.path = device->node();
  auto target = RawTarget::open(options);
  RawTarget* const targets[] = {&target};
  for (const std::string engine : {"psync", "libaio", "io_uring"}) {
    INFO("engine " << engine);
    auto workload = short_workload(engine);
    workload.streams.front().depth = engine == "psync" ? 1 : 8;
    workload.on_error = OnError::kCount;
    const auto counted = run_raw(workload, targets, record);
    const auto& reads = counted.totals.at("read");
    CHECK(reads.errors > 0);
    CHECK(reads.errors_by_code.at(EIO) == reads.errors);
    CHECK(reads.count() > reads.errors);
    CHECK(counted.measured_s >= 0.2);
    REQUIRE(counted.failure);
    const auto warnings = record.warnings();
    CHECK(std::any_of(warnings.begin(), warnings.end(), [](const Warning& warning) {
      return warning.id == "errors" && warning.text.find("(EIO)") != std::string::npos &&
             warning.text.find("offset") != std::string::npos;
    }));

    workload.on_error = OnError::kStop;
    workload.runtime_ns = 30'000 * kMilli_ns;
    const auto stopped = run_raw(workload, targets, record);
    REQUIRE(stopped.failure);
    CHECK(stopped.measured_s < 10);
    CHECK_THAT(describe(*stopped.failure, targets), ContainsSubstring("(EIO)"));
    CHECK_THAT(describe(*stopped.failure, targets), ContainsSubstring("offset"));
  }
}
