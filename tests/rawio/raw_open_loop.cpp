// Open loops: asked is achieved, lateness is recorded, and a stall is seen by all it delays.
#include <cmath>
#include <thread>

#include "tests/catch.h"
#include "tests/rawio/raw_lab.h"

using namespace plimsoll;
using namespace plimsoll::test;

TEST_CASE("an open loop's asked and achieved rate are within 0.1 %, however slow or fast",
          "[slow]") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  auto closed = short_workload("libaio");
  closed.runtime_ns = 500 * kMilli_ns;
  closed.streams.front().depth = 32;
  const double most = lab.run(closed).iops();
  for (const double rate : {0.5, 10.0, 2000.0, most / 2}) {
    for (const auto kind : {ArrivalKind::kConstant, ArrivalKind::kPoisson}) {
      // A poisson count strays by its root: only at a high rate is that little.
      if (kind == ArrivalKind::kPoisson && rate < most / 2) continue;
      INFO(rate << " a second");
      auto workload = short_workload("libaio");
      workload.runtime_ns = 2'000 * kMilli_ns;
      auto& stream = workload.streams.front();
      stream.arrivals = kind;
      stream.rate_per_s = rate;
      stream.depth = 256;
      stream.jobs = rate >= 2000 ? 2 : 1;
      const auto result = lab.run(workload);
      const double noise = kind == ArrivalKind::kPoisson ? 4 / std::sqrt(rate * 2) : 0.001;
      CHECK(*result.achieved_rate_per_s == Approx(rate).epsilon(noise));
      CHECK(result.part.facts.at("lateness_p99_ns").is_number());
      CHECK(result.part.facts.at("lateness_max_ns") >= result.part.facts.at("lateness_p99_ns"));
    }
  }
}

TEST_CASE("what a closed loop beside an open one does is no part of its achieved rate") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  auto workload = short_workload("libaio");
  workload.runtime_ns = 500 * kMilli_ns;
  workload.streams.push_back(workload.streams.front());
  auto& open = workload.streams.back();
  open.arrivals = ArrivalKind::kConstant;
  open.rate_per_s = 200;
  const auto result = lab.run(workload);
  CHECK(*result.asked_rate_per_s == 200);
  CHECK(*result.achieved_rate_per_s == Approx(200).margin(4));
  CHECK(result.iops() > 400);
}

TEST_CASE("a rate that can't be reached is said, with what was left undone") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  auto workload = short_workload("psync");
  auto& stream = workload.streams.front();
  stream.arrivals = ArrivalKind::kConstant;
  stream.rate_per_s = 1.9e6;
  const auto result = lab.run(workload);
  CHECK(result.part.facts.at("backlog").get<double>() > 1000);
  REQUIRE(lab.record.warnings().size() == 1);
  CHECK(lab.record.warnings().front().id == "behind-schedule");
}

TEST_CASE("a pause of the drive shows in the response time of every request it delayed", "[slow]") {
  lab::NbdkitOptions nbdkit;
  nbdkit.filters = {"pause"};
  const auto device = lab::make<lab::NbdkitDevice>(nbdkit);
  if (!device) return;
  const lab::DeviceDir results;
  auto record = Record::create(results.path() / "run", raw_spec());
  TargetOptions options;
  options.path = device->node();
  auto target = RawTarget::open(options);
  RawTarget* const targets[] = {&target};
  auto workload = short_workload("libaio");
  workload.runtime_ns = 3'000 * kMilli_ns;
  auto& stream = workload.streams.front();
  stream.arrivals = ArrivalKind::kConstant;
  stream.rate_per_s = 200;
  stream.depth = 4;
  std::jthread pauser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    device->pause();
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    device->resume();
  });
  const auto result = run_raw(workload, targets, record);
  const auto& reads = result.totals.at("read");
  CHECK(*result.achieved_rate_per_s == Approx(200).epsilon(0.001));
  CHECK(result.part.facts.at("lateness_max_ns").get<double>() > 900e6);
  // One request each 5 ms of the pause: 200 waited, evenly from 1 s down to nothing.
  CHECK(double(reads.response.count_above(100 * kMilli_ns)) == Approx(180).margin(25));
  CHECK(double(reads.response.count_above(500 * kMilli_ns)) == Approx(100).margin(25));
  // Only the four in flight had it in their service time.
  CHECK(reads.service.count_above(500 * kMilli_ns) <= 4);
}
