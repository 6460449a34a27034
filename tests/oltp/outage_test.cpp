// A server that goes away during a run, and what its figures look like in the record.
#include <chrono>
#include <thread>

#include "oltp/server/private_server.h"
#include "oltp/terminal/run_oltp.h"
#include "oltp/workload/sysbench_load.h"
#include "tests/catch.h"
#include "tests/lab/skip.h"
#include "tests/oltp/database_servers.h"

namespace plimsoll {
namespace {

using namespace std::chrono_literals;

struct Placed {
  lab::OpenDir dir;
  std::unique_ptr<PrivateServer> server;
  std::unique_ptr<Database> database;
  std::unique_ptr<Workload> workload;

  explicit Placed(const std::string& engine) {
    ServerOptions options;
    options.engine = engine;
    options.place = dir.path();
    options.memory_bytes = 256ULL << 20;
    options.bounded = false;
    server = std::make_unique<PrivateServer>(options);
    database = open_database(server->url());
    SysbenchOptions data;
    data.table_size = 1000;
    fill_sysbench(*database, data, {});
    workload = make_sysbench(sysbench_row("oltp_read_write"), data, database->engine());
  }

  Record record() { return Record::create(dir.free_path("run"), RunSpec{}); }
};

OltpSpec spec_of(std::int64_t time_ns) {
  OltpSpec spec;
  spec.threads = 4;
  spec.time_ns = time_ns;
  spec.interval_ns = 500'000'000;
  return spec;
}

TEST_CASE("a server killed and restarted during a run: all sessions come back", "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    INFO(engine);
    Placed placed(engine);
    Record record = placed.record();
    // The run ends 2 s after the server is back, however long that took.
    std::stop_source stop;
    std::int64_t away_ns = 0;
    std::jthread killer([&] {
      std::this_thread::sleep_for(1500ms);
      const auto start = std::chrono::steady_clock::now();
      placed.server->kill();
      std::this_thread::sleep_for(700ms);
      placed.server->start();
      away_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
      std::this_thread::sleep_for(2s);
      stop.request_stop();
    });
    OltpHooks hooks;
    hooks.stop = stop.get_token();
    const OltpResult result = run_oltp(*placed.database, *placed.workload, spec_of(120'000'000'000),
                                       record, "run", hooks);
    killer.join();
    std::int64_t outage_ns = 0;
    for (const Event& event : record.events()) {
      INFO(event.kind << ": " << event.text);
      if (event.kind == "outage") outage_ns += event.length_ns;
    }
    CHECK(outage_ns > 600'000'000);
    CHECK(outage_ns < away_ns + 1'500'000'000);
    const auto intervals = record.intervals(result.part, "oltp");
    REQUIRE(intervals.size() > 4);
    CHECK(intervals.front().count > 0);
    CHECK(intervals.back().count > 0);
    // Only a commit that was lost may be gone: at most one a session.
    CHECK(result.part.facts.at("failed").get<int>() <= 4);
    const int retried = result.part.facts.at("retried");
    CHECK(retried + result.part.facts.at("failed").get<int>() >= 4);
  }
}

TEST_CASE("an outage ends the run where that was asked", "[slow]") {
  const auto engines = lab::installed_servers();
  if (engines.empty()) return;
  Placed placed(engines.front());
  Record record = placed.record();
  auto spec = spec_of(20'000'000'000);
  spec.on_outage = OnOutage::kEnd;
  std::jthread killer([&] {
    std::this_thread::sleep_for(700ms);
    placed.server->kill();
  });
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(run_oltp(*placed.database, *placed.workload, spec, record, "run", {}),
                  BrokenError);
  CHECK(std::chrono::steady_clock::now() - start < 10s);
  CHECK(record.parts().size() == 1);
}

TEST_CASE("the database's own figures are series of the run", "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    INFO(engine);
    Placed placed(engine);
    Record record = placed.record();
    const OltpResult result =
        run_oltp(*placed.database, *placed.workload, spec_of(4'000'000'000), record, "run", {});
    const bool pg = engine == "postgresql";
    const auto commits = record.series(result.part, "database", pg ? "xact_commit" : "Com_commit");
    REQUIRE(commits.size() >= 2);
    double rate = 0;
    for (const auto& point : commits) rate = std::max(rate, point.value);
    const double tps = result.part.facts.at("committed").get<double>() / 4;
    CHECK(rate > tps * 0.5);
    CHECK(rate < tps * 2);
    CHECK(record.series(result.part, "database", "sampling_ns").size() >= 2);
    int waits = 0;
    for (const auto& name : record.series_names(result.part, "database"))
      waits += name.starts_with("wait:") ? 1 : 0;
    CHECK(waits > 0);
  }
}

}  // namespace
}  // namespace plimsoll
