#include "results/correlate/correlate.h"

#include <cmath>
#include <map>

#include "results/correlate/timeline.h"
#include "tests/catch.h"
#include "tests/fakes/sample_records.h"
#include "tests/lab/temp_dir.h"

using namespace plimsoll;

namespace {

using fakes::OltpSecond;

std::vector<Json> correlate_seconds(const std::vector<OltpSecond>& seconds) {
  lab::TempDir dir;
  auto record = Record::create(dir.path() / "run", RunSpec{});
  fakes::add_oltp_part(record, "work", seconds);
  return correlate(record);
}

Json find(const std::vector<Json>& findings, const std::string& target, const std::string& name) {
  for (const auto& finding : findings) {
    if (finding["kind"] != "correlation") continue;
    if (finding["target"] == target && finding["name"] == name) return finding;
  }
  return Json();
}

// Device latency is noise; what the load does with it is up to the test.
std::vector<OltpSecond> noisy_seconds(std::size_t n, std::uint64_t seed) {
  fakes::Noise noise(seed);
  std::vector<OltpSecond> seconds;
  for (std::size_t i = 0; i < n; ++i) {
    const double tps = 500 + std::floor(100 * noise.uniform());
    const double device_ns = 1e6 * (1 + noise.uniform());
    const auto response_ns = static_cast<std::int64_t>(2e6 * (1 + noise.uniform()));
    seconds.push_back({tps, device_ns, response_ns});
  }
  return seconds;
}

}  // namespace

TEST_CASE("TPS that falls two seconds after the device slows is found with its lag") {
  auto seconds = noisy_seconds(60, 1);
  for (std::size_t i = 2; i < seconds.size(); ++i) {
    seconds[i].tps = 1000 - std::floor(seconds[i - 2].device_latency_ns / 4e3);
  }
  const auto finding = find(correlate_seconds(seconds), "tps", "write_mean");
  CHECK(finding["outcome"] == "ok");
  CHECK(finding["lag_s"] == 2);
  CHECK(finding["rho"].get<double>() == Approx(-1).margin(0.001));
  CHECK(finding["significant"] == true);
  CHECK(finding["n"] == 58);
  CHECK(finding["text"].get<std::string>().find("2 s after") != std::string::npos);
}

TEST_CASE("A constant device series is named so and enters no correction") {
  const auto findings = correlate_seconds(noisy_seconds(40, 2));
  CHECK(find(findings, "tps", "flush_mean")["outcome"] == "no variation");
  CHECK_FALSE(find(findings, "tps", "flush_mean").contains("rho"));
}

TEST_CASE("Nineteen seconds are not enough to correlate") {
  const auto findings = correlate_seconds(noisy_seconds(19, 3));
  const auto finding = find(findings, "response_p99", "write_mean");
  CHECK(finding["outcome"] == "not enough seconds");
  CHECK(finding["n"] == 19);
}

TEST_CASE("Independent noise gives no significant latency finding in 100 trials", "[slow]") {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    bool any = false;
    const auto findings = correlate_seconds(noisy_seconds(40, seed * 13));
    for (const auto* target : {"tps", "response_mean", "response_p99"}) {
      any = any || find(findings, target, "write_mean")["significant"] == true;
    }
    wrong += any;
  }
  // 5 % at most, and two standard deviations of 100 trials; uncorrected it would be 15.
  CHECK(wrong <= 9);
}

TEST_CASE("The worst second and the variation of TPS are those of the series") {
  std::vector<OltpSecond> seconds(10, {100, 1e6, 5'000'000});
  seconds[6] = {40, 9e6, 70'000'000};
  const auto findings = correlate_seconds(seconds);
  REQUIRE(findings.front()["kind"] == "steadiness");
  const auto& steady = findings.front();
  CHECK(steady["tps_mean"].get<double>() == Approx(94));
  CHECK(steady["tps_cv"].get<double>() == Approx(std::sqrt(3240.0 / 9) / 94));
  CHECK(steady["worst"]["offset_s"] == 6);
  CHECK(steady["worst"]["tps"] == 40);
  CHECK(steady["worst"]["response_p99_ns"].get<double>() == Approx(70e6).epsilon(0.001));
  Json write;
  for (const auto& one : steady["worst"]["beside"]) {
    if (one["name"] == "write_mean") write = one;
  }
  CHECK(write["value"].get<double>() == Approx(9e6));
  CHECK(write["median"].get<double>() == Approx(1e6));
}

TEST_CASE("A stopped database has findings without nan") {
  const auto findings = correlate_seconds(std::vector<OltpSecond>(30, {0, 1e6, 0}));
  for (const auto& finding : findings) CHECK(finding.dump().find("nan") == std::string::npos);
  REQUIRE_FALSE(findings.empty());
  CHECK(findings.front()["tps_cv"].is_null());
  CHECK(findings.front()["worst"]["response_p99_ns"].is_null());
}

TEST_CASE("A record without a database part has no findings") {
  lab::TempDir dir;
  CHECK(correlate(fakes::make_raw(dir.path() / "run")).empty());
}

TEST_CASE("A short last interval is left out of the seconds") {
  lab::TempDir dir;
  auto record = Record::create(dir.path() / "run", RunSpec{});
  const auto part = record.begin_part("work", "oltp", Json::object(), 0);
  for (int second = 0; second <= 5; ++second) {
    IntervalRow row;
    row.part = part.id;
    row.source = "oltp";
    row.operation = "work";
    row.start_ns = second * kSecond_ns;
    row.end_ns = row.start_ns + (second == 5 ? kSecond_ns / 100 : kSecond_ns);
    row.count = second == 5 ? 8 : 100;
    record.add_interval(row);
  }
  record.commit();
  const auto timeline = make_timeline(record, part);
  REQUIRE(timeline.steps() == 6);
  CHECK(timeline.measured[4]);
  CHECK_FALSE(timeline.measured[5]);
  CHECK(correlate(record).front()["worst"]["tps"] == 100);
}

TEST_CASE("Device rows read just after the load's belong to the same second") {
  lab::TempDir dir;
  auto record = Record::create(dir.path() / "run", RunSpec{});
  fakes::add_oltp_part(record, "work", {{100, 1e6, 1}, {200, 2e6, 1}, {300, 3e6, 1}});
  const auto timeline = make_timeline(record, record.parts().front());
  const auto* tps = timeline.find("oltp", "tps");
  const auto* iops = timeline.find("device:x", "write_iops");
  REQUIRE(tps != nullptr);
  REQUIRE(iops != nullptr);
  for (std::size_t i = 0; i < 3; ++i) CHECK(*iops->values[i] == Approx(2 * *tps->values[i]));
}

TEST_CASE("what follows the load isn't named as what moves the database") {
  lab::TempDir dir;
  auto record = Record::create(dir.path() / "run", RunSpec{});
  fakes::add_oltp_part(record, "work",
                       {{100, 1e6, 1}, {200, 2e6, 1}, {300, 3e6, 1}, {150, 2e6, 1}});
  const auto part = record.parts().front();
  for (int second = 0; second < 4; ++second) {
    const auto at_ns = part.start_ns + (second + 1) * kSecond_ns;
    record.add_point(part, "cpu", "self_user_pct", at_ns, 10 * second);
    record.add_point(part, "cpu", "iowait_pct", at_ns, 20 * second);
    record.add_point(part, "observer", "runs", at_ns, 30 * second);
    record.add_point(part, "device:x", "ours_ops", at_ns, 30 * second);
    record.add_point(part, "device:x", "write_up_to_8k", at_ns, 30 * second);
    record.add_point(part, "device:x", "rest_ops", at_ns, 30 * second);
  }
  record.commit();
  std::map<std::string, bool> follows;
  for (const auto& finding : correlate(record)) {
    if (finding["kind"] != "correlation") continue;
    const std::string name = finding["name"];
    if (name.find("_pct") != std::string::npos || name == "runs" || name == "write_up_to_8k" ||
        name.ends_with("_ops")) {
      follows[name] = finding["follows_load"];
    }
  }
  CHECK(follows == std::map<std::string, bool>{{"iowait_pct", false},
                                               {"ours_ops", true},
                                               {"rest_ops", false},
                                               {"runs", true},
                                               {"self_user_pct", true},
                                               {"write_up_to_8k", true}});
}

TEST_CASE("A warm-up that isn't whole seconds costs no measured second") {
  lab::TempDir dir;
  auto record = Record::create(dir.path() / "run", RunSpec{});
  const auto part = record.begin_part("work", "oltp", Json::object(), 0);
  std::int64_t at_ns = 0;
  const auto add = [&](std::int64_t length_ns, bool measured, std::uint64_t count) {
    IntervalRow row;
    row.part = part.id;
    row.source = "oltp";
    row.operation = "work";
    row.start_ns = at_ns;
    row.end_ns = at_ns += length_ns;
    row.measured = measured;
    row.count = count;
    record.add_interval(row);
  };
  add(kSecond_ns / 2, false, 7);
  for (const std::uint64_t count : {50, 900, 1000, 1100}) add(kSecond_ns, true, count);
  record.commit();
  const auto timeline = make_timeline(record, part);
  CHECK(timeline.measured == std::vector<bool>{false, true, true, true, true});
  const auto steadiness = correlate(record).front();
  CHECK(steadiness["worst"]["tps"] == 50);
  CHECK(steadiness["worst"]["offset_s"] == 0);
}
