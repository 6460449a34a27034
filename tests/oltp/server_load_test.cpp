// Loads and workloads on real servers: all of them done, resumed after a kill, stopped by a full
// drive.
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
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

SysbenchOptions tables_of(int tables, std::int64_t rows) {
  SysbenchOptions options;
  options.tables = tables;
  options.table_size = rows;
  return options;
}

// The sum of all k, and how many rows there are.
std::string checksum(Database& database, int tables) {
  std::string sums;
  const auto session = database.connect();
  for (int table = 1; table <= tables; ++table) {
    execute_or_throw(
        *session,
        fmt::format("SELECT COUNT(*), CAST(SUM(k) AS DECIMAL(20, 0)) FROM sbtest{}", table));
    for (std::size_t column = 0; column < 2; ++column)
      sums += fmt::format("{} ", std::get<std::int64_t>(session->rows().at(0, column)));
  }
  return sums;
}

// Few rows, so that terminals meet on them.
void run_all_workloads(const std::string& url, bool pipeline) {
  lab::TempDir dir;
  const auto database = open_database(url);
  SysbenchOptions options = tables_of(2, 200);
  fill_sysbench(*database, options, {});
  options.pipeline = pipeline;
  for (const SysbenchRow& row : sysbench_rows()) {
    INFO(row.name);
    Record record = Record::create(dir.free_path("run"), RunSpec{});
    OltpSpec spec;
    spec.threads = 8;
    spec.time_ns = 400'000'000;
    spec.retry.limit = 100;
    const auto workload = make_sysbench(row, options, database->engine());
    const auto result = run_oltp(*database, *workload, spec, record, std::string(row.name), {});
    INFO(result.part.facts.dump());
    CHECK(result.part.facts["committed"].get<int>() > 0);
    // At most what the deadline found in a conflict, which it then doesn't run again.
    CHECK(result.part.facts["failed"].get<int>() <= spec.threads);
    for (const auto& [code, count] : result.part.facts["errors"].items())
      CHECK(result.part.facts["retries"].contains(code));
  }
  CHECK(drop_sysbench(*database) == 2);
  CHECK(database->tables().empty());
}

TEST_CASE("all workloads run on every server with several terminals and nothing but conflicts",
          "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    for (const bool odbc : {false, true}) {
      INFO(engine << (odbc ? " by ODBC" : ""));
      const auto url = lab::empty_database(engine, odbc);
      if (url) run_all_workloads(*url, false);
    }
  }
  if (const auto url = lab::empty_database("postgresql")) run_all_workloads(*url, true);
}

TEST_CASE("a load that was killed is resumed on a server to the same rows", "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    INFO(engine);
    const SysbenchOptions options = tables_of(2, 60'000);
    const auto whole = open_database(lab::empty_database(engine).value());
    fill_sysbench(*whole, options, {});
    const std::string url = lab::empty_database(engine).value();
    const pid_t child = fork();
    if (child == 0) {
      LoadHooks hooks;
      hooks.progress = [](const Progress& progress) {
        if (progress.fraction > 0.3) ::kill(getpid(), SIGKILL);
      };
      fill_sysbench(*open_database(url), options, hooks);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const auto database = open_database(url);
    if (WIFEXITED(status)) {
      lab::skip("the load was done before it could be killed");
      continue;
    }
    CHECK_THROWS_AS(match_loaded(*database, options), RefusedError);
    const LoadResult result = fill_sysbench(*database, options, {});
    CHECK(result.resumed_rows > 0);
    CHECK(result.rows == 120'000);
    CHECK(checksum(*database, 2) == checksum(*whole, 2));
  }
}

TEST_CASE("a load onto a drive that another fills stops, saying so, and is cleaned up", "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    INFO(engine);
    lab::OpenDir dir;
    const auto drive = dir.path() / "drive";
    std::filesystem::create_directory(drive);
    if (mount("tmpfs", drive.c_str(), "tmpfs", 0, "size=700m,mode=0711") != 0)
      return lab::skip("no right to mount");
    try {
      ServerOptions server_options;
      server_options.engine = engine;
      server_options.place = drive;
      server_options.memory_bytes = 256ULL << 20;
      server_options.bounded = false;
      PrivateServer server(server_options);
      const auto database = open_database(server.url());
      LoadHooks hooks;
      hooks.progress = [&](const Progress&) {
        std::ofstream other(drive / "other", std::ios::binary);
        const std::string megabyte(1 << 20, 'x');
        while (other.write(megabyte.data(), static_cast<std::streamsize>(megabyte.size()))) {
        }
      };
      CHECK_THROWS_WITH(fill_sysbench(*database, tables_of(1, 2'000'000), hooks),
                        Catch::Matchers::Contains("full") && Catch::Matchers::Contains("needed"));
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
    std::filesystem::remove(drive / "other");
    CHECK(std::filesystem::is_empty(drive));
    umount2(drive.c_str(), MNT_DETACH);
  }
}

}  // namespace
}  // namespace plimsoll
