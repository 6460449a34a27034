#include "results/record/record.h"

#include <sqlite3.h>

#include <cmath>
#include <set>
#include <thread>

#include "results/base/error.h"
#include "results/base/version.h"
#include "results/measure/clock.h"
#include "tests/catch.h"
#include "tests/lab/temp_dir.h"
#include "tests/results/record_samples.h"

namespace plimsoll {
namespace {

using lab::TempDir;
using samples::interval;

// What a user sees who opens the record with SQLite's shell.
std::string query(const std::filesystem::path& dir, const std::string& sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open((dir / "record.db").c_str(), &db) == SQLITE_OK);
  std::string answer;
  const auto append = [](void* into, int columns, char** values, char**) {
    auto& text = *static_cast<std::string*>(into);
    for (int i = 0; i < columns; ++i) {
      text += (i == 0 ? "" : "|") + std::string(values[i] == nullptr ? "NULL" : values[i]);
    }
    text += "\n";
    return 0;
  };
  char* error = nullptr;
  sqlite3_exec(db, sql.c_str(), append, &answer, &error);
  INFO((error == nullptr ? "" : error));
  CHECK(error == nullptr);
  sqlite3_close(db);
  return answer;
}

RunSpec full_spec() {
  RunSpec spec;
  spec.command = "oltp run";
  spec.target = "/mnt/x";
  spec.argv = {"plimsoll", "oltp", "run", "--place", "/mnt/x y"};
  spec.seed = UINT64_MAX;
  spec.options = {{"threads", 8}, {"rate", nullptr}, {"json", false}};
  return spec;
}

TEST_CASE("record: what was asked and what it ran on is read back") {
  const TempDir temp;
  const auto dir = temp.path() / "a" / "run";
  const std::int64_t before_ns = SystemClock::wall_ns();
  {
    Record record = Record::create(dir, full_spec());
    record.set_environment("drive", {{"model", "X"}, {"serial", nullptr}});
    record.set_environment("drive", {{"model", "Y"}});
    record.set_verdict({"pass", "carries it"});
    record.finish(SystemClock::instance().now_ns());
    CHECK(record.finished());  // readable on after the end
  }
  const Record record = Record::open(dir / "record.db");
  CHECK(record.dir() == dir);
  CHECK(record.finished());
  CHECK(record.version() == version());
  CHECK(record.started_wall_ns() >= before_ns);
  CHECK(record.started_wall_ns() <= SystemClock::wall_ns());
  CHECK(record.started_ns() <= SystemClock::instance().now_ns());
  const RunSpec spec = record.spec();
  CHECK(spec.command == full_spec().command);
  CHECK(spec.target == full_spec().target);
  CHECK(spec.argv == full_spec().argv);
  CHECK(spec.seed == UINT64_MAX);
  CHECK(spec.options == full_spec().options);
  CHECK(record.environment() == Json{{"drive", {{"model", "Y"}}}});
  CHECK(record.verdict().word == "pass");
  CHECK(record.verdict().sentence == "carries it");
}

TEST_CASE("record: a finished record is one file, without a journal") {
  const TempDir temp;
  samples::write(temp.path() / "run", 3);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(temp.path() / "run")) {
    names.push_back(entry.path().filename());
  }
  CHECK(names == std::vector<std::string>{"record.db"});
}

TEST_CASE("record: parts, intervals, points and all the rest are read back") {
  const TempDir temp;
  Record record = Record::create(temp.path() / "run", full_spec());
  const Part part = record.begin_part("raw randread", "raw", {{"bs", 4096}}, 100);
  const Part open_part = record.begin_part("cut", "raw", {}, 200);
  IntervalRow device;
  device.part = part.id;
  device.source = "device:vda";
  device.operation = "read";
  device.start_ns = kSecond_ns;
  device.end_ns = 2 * kSecond_ns;
  device.count = 7;
  device.bytes = 7 * 4096;
  device.time_sum_ns = 1234.5;
  record.add_interval(device);
  record.add_interval(interval(part, "raw", "write", 1, {5000}));
  record.add_interval(interval(part, "raw", "read", 1, {1000, 2000, 3000}));
  record.add_interval(interval(part, "raw", "read", 0, {900}));
  record.add_point(part, "device:vda", "in_flight", 5, 1.5);
  record.add_point(part, "device:vda", "in_flight", 4, 0);
  record.add_point(part, "psi", "io_some_pct", 4, std::nan(""));
  record.add_event({.at_ns = 9, .length_ns = 2, .kind = "stall", .text = "0.3 s"});
  record.add_check({1, "sums agree", false, Json::array({{{"w", 1}}})});
  record.add_finding({{"kind", "budget"}});
  record.end_part(part, 300, {{"achieved_rate", 7.0}});

  const auto parts = record.parts();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].name == "raw randread");
  CHECK(parts[0].spec == Json{{"bs", 4096}});
  CHECK(parts[0].end_ns == 300);
  CHECK(parts[0].facts == Json{{"achieved_rate", 7.0}});
  CHECK_FALSE(parts[1].end_ns.has_value());
  CHECK(record.sources(part) == std::vector<std::string>{"device:vda", "raw"});
  CHECK(record.sources(open_part).empty());
  CHECK(record.operations(part, "raw") == std::vector<std::string>{"read", "write"});
  CHECK(record.series_names(part, "device:vda") == std::vector<std::string>{"in_flight"});
  CHECK(record.series_names(part, "psi").empty());  // nan is no value

  const auto points = record.series(part, "device:vda", "in_flight");
  REQUIRE(points.size() == 2);
  CHECK(points[0].at_ns == 4);
  CHECK(points[1].value == 1.5);
  const auto devices = record.intervals(part, "device:vda");
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].time_sum_ns == 1234.5);
  CHECK(devices[0].latencies.empty());
  CHECK(devices[0].bytes == 7 * 4096);
  const auto rows = record.intervals(part, "raw");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].start_ns == 0);  // in time order, not in that of writing
  CHECK(rows[0].time_sum_ns < 0);
  REQUIRE(record.events().size() == 1);
  CHECK(record.events()[0].text == "0.3 s");
  REQUIRE(record.checks().size() == 1);
  CHECK_FALSE(record.checks()[0].holds);
  CHECK(record.checks()[0].rows == Json::array({{{"w", 1}}}));
  REQUIRE(record.findings().size() == 1);
}

TEST_CASE("record: histograms come back to the bucket, with exact sums and extremes") {
  const TempDir temp;
  Record record = Record::create(temp.path() / "run", full_spec());
  const Part part = record.begin_part("p", "raw", {}, 0);
  const std::vector<std::int64_t> values = {1, 777, 123'456'789, 3'600'000'000'001};
  record.add_interval(interval(part, "raw", "read", 0, values));
  record.finish(kSecond_ns);
  const auto rows = Record::open(temp.path() / "run").intervals(part, "raw");
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].latencies.size() == 2);
  CHECK(rows[0].latencies[0].measure == "response");
  for (const LatencyRow& latency : rows[0].latencies) {
    Histogram expected;
    for (const std::int64_t value : values) expected.record(value);
    CHECK(latency.histogram.count() == 4);
    CHECK(latency.histogram.min() == 1);
    CHECK(latency.histogram.max() == 3'600'000'000'001);
    CHECK(latency.histogram.sum() == expected.sum());
    CHECK(latency.histogram.sum_squares() == expected.sum_squares());
    CHECK(latency.histogram.percentile(50) == expected.percentile(50));
  }
  CHECK(Record::open(temp.path() / "run").intervals(part, "raw", false)[0].latencies.empty());
}

TEST_CASE("record: a total merges histograms and counts measured intervals only") {
  const TempDir temp;
  Record record = Record::create(temp.path() / "run", full_spec());
  const Part part = record.begin_part("p", "oltp", {}, 0);
  IntervalRow warm_up = interval(part, "oltp", "new_order", 0, {1'000'000'000});
  warm_up.measured = false;
  record.add_interval(warm_up);
  // 99 quick ones in one second, 1 slow in another: averaged p99s would say 5,005 us or so.
  record.add_interval(
      interval(part, "oltp", "new_order", 1, std::vector<std::int64_t>(99, 10'000)));
  IntervalRow failed = interval(part, "oltp", "new_order", 2, {10'000'000});
  failed.errors = 3;
  failed.errors_by_code = {{5, 2}, {28, 1}};
  record.add_interval(failed);
  record.add_interval(interval(part, "oltp", "payment", 2, {20'000}));

  const IntervalRow total = record.total(part, "oltp", "new_order");
  CHECK(total.count == 100);
  CHECK(total.errors == 3);
  CHECK(total.errors_by_code == std::map<int, std::uint64_t>{{5, 2}, {28, 1}});
  CHECK(total.start_ns == kSecond_ns);
  CHECK(total.end_ns == 3 * kSecond_ns);
  REQUIRE(total.latencies.size() == 2);
  CHECK(total.latencies[0].histogram.percentile(99) == Approx(10'000).epsilon(0.001));
  CHECK(total.latencies[0].histogram.max() == 10'000'000);
  CHECK(record.total(part, "oltp", "").count == 101);
  const IntervalRow none = record.total(part, "oltp", "delivery");
  CHECK(none.count == 0);
  CHECK(none.latencies.empty());
}

TEST_CASE("record: percentiles and rates are there in plain SQL") {
  const TempDir temp;
  {
    Record record = Record::create(temp.path() / "run", full_spec());
    const Part part = record.begin_part("p", "raw", {}, 0);
    IntervalRow row = interval(part, "raw", "read", 0, {1000, 1000, 2000, 2047});
    row.bytes = 8192;
    record.add_interval(row);
    record.add_interval(interval(part, "raw", "read", 1, {}));
    record.warn({"not-durable", "synchronous is off"});
    record.finish(kSecond_ns);
  }
  const auto dir = temp.path() / "run";
  CHECK(query(dir, "SELECT measure, p50_ns, p99_ns, max_ns FROM latencies WHERE count > 0") ==
        "response|1000|2047|2047\nservice|1000|2047|2047\n");
  CHECK(query(dir, "SELECT p50_ns, mean_ns, histogram FROM latencies WHERE count = 0") ==
        "NULL|NULL|NULL\nNULL|NULL|NULL\n");
  CHECK(query(dir, "SELECT source, operation, count, per_s, bytes_per_s FROM intervals") ==
        "raw|read|4|4.0|8192.0\nraw|read|0|0.0|0.0\n");
  CHECK(query(dir, "SELECT count(*) FROM latencies WHERE length(histogram) > 0") == "2\n");
  CHECK(query(dir, "SELECT count(*) FROM latency WHERE histogram IS NOT NULL") == "1\n");
  CHECK(query(dir, "SELECT verdict FROM verdict") == "invalid\n");
  CHECK(query(dir, "PRAGMA application_id; PRAGMA user_version") == "1349282157\n1\n");
}

TEST_CASE("record: an open loop's response and service histograms stay apart") {
  const TempDir temp;
  Record record = Record::create(temp.path() / "run", full_spec());
  const Part part = record.begin_part("p", "raw", {}, 0);
  IntervalSample sample{"read", 0, kSecond_ns, true, {}};
  sample.totals.response.record(9000);
  sample.totals.service.record(1000);
  record.add_interval(part, "raw", sample);
  const auto latencies = record.intervals(part, "raw").at(0).latencies;
  REQUIRE(latencies.size() == 2);
  CHECK(latencies[0].histogram.max() == 9000);
  CHECK(latencies[1].histogram.max() == 1000);
}

TEST_CASE("record: a warning is kept once, and an invalidating one rules the verdict") {
  const TempDir temp;
  Record record = Record::create(temp.path() / "run", full_spec());
  record.set_verdict({"pass", "s"});
  record.warn({"buffered", "page cache"});
  record.warn({"buffered", "page cache"});
  record.warn({"buffered", "in another part"});
  CHECK(record.warnings().size() == 2);
  CHECK(record.verdict().word == "pass");
  record.warn({"lying-flush", "flushes take 3 us"});
  CHECK(record.verdict().word == "invalid");
  CHECK(record.verdict().sentence == "s");
}

TEST_CASE("record: every kind of warning has a name of its own and says what it does") {
  std::set<std::string_view> ids;
  for (const WarningKind& kind : warning_kinds()) {
    INFO(kind.id);
    CHECK(ids.insert(kind.id).second);
    CHECK(kind.meaning.ends_with("."));
    CHECK(warning_kind(kind.id).id == kind.id);
  }
  CHECK(warning_kind("of-a-later-version").id == "unknown");
}

TEST_CASE("record: a second run into the same folder is refused and the first kept") {
  const TempDir temp;
  const auto dir = temp.path() / "run";
  samples::write(dir, 2);
  CHECK_THROWS_AS(Record::create(dir, full_spec()), UsageError);
  CHECK_THROWS_WITH(Record::create(dir, full_spec()),
                    ContainsSubstring("already holds") && ContainsSubstring("--out"));
  CHECK(Record::open(dir).parts().size() == 1);
}

TEST_CASE("record: a folder that can't be made is a broken run that names --out") {
  const TempDir temp;
  lab::write_text(temp.path() / "file", "x");
  CHECK_THROWS_AS(Record::create(temp.path() / "file" / "run", full_spec()), BrokenError);
  CHECK_THROWS_WITH(Record::create(temp.path() / "file" / "run", full_spec()),
                    ContainsSubstring("--out"));
}

TEST_CASE("record: the journal of a record that was removed isn't taken for the new one's") {
  const TempDir temp;
  const samples::CutRun run(temp.path());
  std::filesystem::remove(temp.path() / "cut/record.db");
  Record::create(temp.path() / "cut", full_spec());
  CHECK(Record::open(temp.path() / "cut").parts().empty());
}

TEST_CASE("record: a password in what was asked isn't stored, whoever forgot to hide it") {
  const TempDir temp;
  RunSpec spec = full_spec();
  spec.target = "mysql://u:hunter2@h/db";
  spec.argv = {"plimsoll", "--db", "mysql://u:hunter2@h/db"};
  Record::create(temp.path() / "run", spec);
  CHECK(lab::read_text(temp.path() / "run/record.db").find("hunter2") == std::string::npos);
  CHECK(Record::open(temp.path() / "run").spec().target == "mysql://u:***@h/db");
}

TEST_CASE("record: bytes that aren't UTF-8 in an argument don't break the run") {
  const TempDir temp;
  RunSpec spec = full_spec();
  spec.argv.push_back("/mnt/\xff\xfe");
  const Record record = Record::create(temp.path() / "run", spec);
  CHECK(record.spec().argv.size() == spec.argv.size());
}

TEST_CASE("record: what an exception left uncommitted is kept") {
  const TempDir temp;
  {
    Record record = Record::create(temp.path() / "run", full_spec());
    const Part part = record.begin_part("p", "raw", {}, 0);
    record.add_interval(interval(part, "raw", "read", 0, {1}));
  }
  const Record record = Record::open(temp.path() / "run");
  CHECK_FALSE(record.finished());
  CHECK(record.intervals(record.parts().at(0), "raw").size() == 1);
}

TEST_CASE("record: it can be read while the run still writes it") {
  const TempDir temp;
  Record writer = Record::create(temp.path() / "run", full_spec());
  const Part part = writer.begin_part("p", "raw", {}, 0);
  for (int second = 0; second < 3; ++second) {
    writer.add_interval(interval(part, "raw", "read", second, {1}));
    CHECK(Record::open(temp.path() / "run").intervals(part, "raw").size() ==
          static_cast<std::size_t>(second));
    writer.commit();
  }
  const Record reader = Record::open(temp.path() / "run");
  writer.finish(3 * kSecond_ns);
  CHECK(Record::open(temp.path() / "run").finished());
}

TEST_CASE("record: several threads write to one record") {
  const TempDir temp;
  Record record = Record::create(temp.path() / "run", full_spec());
  const Part part = record.begin_part("p", "raw", {}, 0);
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < 4; ++number) {
      threads.emplace_back([&record, &part, number] {
        for (int second = 0; second < 50; ++second) {
          record.add_interval(interval(part, "s" + std::to_string(number), "read", second, {1}));
          record.commit();
        }
      });
    }
  }
  for (int number = 0; number < 4; ++number) {
    CHECK(record.intervals(part, "s" + std::to_string(number)).size() == 50);
  }
}

TEST_CASE("record: a new run's folder is its own, also in the same second") {
  const TempDir temp;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(temp.path());
  std::set<std::filesystem::path> dirs;
  for (int i = 0; i < 5; ++i) dirs.insert(default_run_dir("oltp run", "../PM9A3 1.92TB"));
  CHECK(dirs.size() == 5);
  for (const auto& dir : dirs) {
    CHECK(std::filesystem::is_directory(dir));
    CHECK(dir.parent_path() == "results/runs");
    CHECK(dir.string().find("-oltp-run-..-PM9A3-1.92TB") != std::string::npos);
  }
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace plimsoll
