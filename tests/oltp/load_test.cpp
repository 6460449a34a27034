#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "oltp/workload/sysbench_load.h"
#include "tests/catch.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"

namespace plimsoll {
namespace {

SysbenchOptions small(int tables = 2, std::int64_t table_size = 30'000) {
  SysbenchOptions options;
  options.tables = tables;
  options.table_size = table_size;
  return options;
}

std::int64_t number(Session& session, const std::string& sql) {
  execute_or_throw(session, sql);
  return std::get<std::int64_t>(session.rows().at(0, 0));
}

// Everything in the tables, in order, in one number.
std::uint64_t contents(Database& database, int tables) {
  const auto session = database.connect();
  std::uint64_t hash = 0;
  for (int table = 1; table <= tables; ++table) {
    execute_or_throw(*session,
                     "SELECT id, k, c, pad FROM sbtest" + std::to_string(table) + " ORDER BY id");
    const DbRows& rows = session->rows();
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      for (std::size_t column = 0; column < 4; ++column) {
        hash = hash * 31 + std::hash<DbView>()(rows.at(row, column));
      }
    }
  }
  return hash;
}

// A file system of `megabytes` in memory; null without the right to mount.
struct SmallDrive {
  lab::TempDir dir;
  std::filesystem::path path = dir.free_path("drive");
  bool mounted = false;
  explicit SmallDrive(int megabytes) {
    std::filesystem::create_directory(path);
    const std::string size = "size=" + std::to_string(megabytes) + "m";
    mounted = mount("tmpfs", path.c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDrive() {
    if (mounted) umount2(path.c_str(), MNT_DETACH);
  }
};

// Stops a load once it has said `reports` times how far it is.
struct StopAfter {
  std::stop_source source;
  LoadHooks hooks(int reports) {
    LoadHooks hooks;
    hooks.stop = source.get_token();
    hooks.progress = [this, left = reports](const Progress&) mutable {
      if (--left <= 0) source.request_stop();
    };
    return hooks;
  }
};

}  // namespace

TEST_CASE("a load fills the tables as sysbench has them") {
  lab::TempDir dir;
  const auto database = open_database("sqlite:" + dir.free_path("db").string());
  const LoadResult result = fill_sysbench(*database, small(), {});
  CHECK(result.rows == 60'000);
  CHECK(result.bytes == database->size_bytes());
  CHECK_FALSE(result.interrupted);
  const auto session = database->connect();
  for (const std::string table : {"sbtest1", "sbtest2"}) {
    CHECK(number(*session, "SELECT COUNT(*) FROM " + table) == 30'000);
    CHECK(number(*session, "SELECT MIN(id) FROM " + table) == 1);
    CHECK(number(*session, "SELECT MAX(id) FROM " + table) == 30'000);
    CHECK(number(*session, "SELECT MIN(k) FROM " + table) >= 1);
    CHECK(number(*session, "SELECT MAX(k) FROM " + table) <= 30'000);
    CHECK(number(*session, "SELECT COUNT(*) FROM " + table +
                               " WHERE length(c) <> 119 OR length(pad) <> 59") == 0);
    CHECK(number(*session, "SELECT COUNT(DISTINCT c) FROM " + table) == 30'000);
  }
  CHECK(number(*session,
               "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'index' "
               "AND name IN ('k_1', 'k_2')") == 2);
  CHECK(database->environment()["journal_mode"] == "wal");
  CHECK(match_loaded(*database, {.tables = 0, .table_size = 0}).table_size == 30'000);
}

TEST_CASE("a row costs no more space than the check before a load assumes") {
  lab::TempDir dir;
  const auto database = open_database("sqlite:" + dir.free_path("db").string());
  const LoadResult result = fill_sysbench(*database, small(1, 100'000), {});
  CHECK(result.bytes < 230 * 100'000);
  CHECK(result.bytes > 190 * 100'000);
}

TEST_CASE("the same seed loads the same rows, another seed others") {
  lab::TempDir dir;
  const auto load = [&](std::uint64_t seed) {
    const auto database = open_database("sqlite:" + dir.free_path("db").string());
    SysbenchOptions options = small(1, 25'000);
    options.seed = seed;
    fill_sysbench(*database, options, {});
    return contents(*database, 1);
  };
  const auto first = load(3);
  CHECK(load(3) == first);
  CHECK(load(4) != first);
}

TEST_CASE("a stopped load is named by a run, and resumed to the same rows") {
  lab::TempDir dir;
  const auto whole = open_database("sqlite:" + dir.free_path("db").string());
  fill_sysbench(*whole, small(), {});
  const auto database = open_database("sqlite:" + dir.free_path("db").string());
  StopAfter stop;
  const LoadResult half = fill_sysbench(*database, small(), stop.hooks(1));
  CHECK(half.interrupted);
  CHECK(half.rows > 0);
  CHECK(half.rows < 60'000);
  CHECK_THROWS_WITH(match_loaded(*database, small()),
                    ContainsSubstring("half-loaded (table 1 of 2"));
  const LoadResult rest = fill_sysbench(*database, small(), {});
  CHECK(rest.resumed_rows == half.rows);
  CHECK(rest.rows == 60'000);
  CHECK(contents(*database, 2) == contents(*whole, 2));
}

TEST_CASE("a half load of other sizes is begun anew") {
  lab::TempDir dir;
  const auto database = open_database("sqlite:" + dir.free_path("db").string());
  StopAfter stop;
  REQUIRE(fill_sysbench(*database, small(), stop.hooks(1)).interrupted);
  const LoadResult result = fill_sysbench(*database, small(1, 1000), {});
  CHECK(result.resumed_rows == 0);
  CHECK(result.rows == 1000);
  CHECK_FALSE(database->tables().contains("sbtest2"));
}

TEST_CASE("a killed load is resumed to the same rows", "[slow]") {
  lab::TempDir dir;
  const SysbenchOptions options = small(3, 60'000);
  const auto whole = open_database("sqlite:" + dir.free_path("db").string());
  fill_sysbench(*whole, options, {});
  const auto expected = contents(*whole, 3);
  std::mt19937 random(std::random_device{}());
  const std::string url = "sqlite:" + dir.free_path("db").string();
  bool done = false;
  int kills = 0;
  for (; !done && kills < 30; ++kills) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        fill_sysbench(*open_database(url), options, {});
        _exit(0);
      } catch (const RefusedError&) {  // the one before was killed after its last word
        _exit(0);
      } catch (const std::exception&) {
        _exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 300));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
    done = WIFEXITED(status);
  }
  CHECK(kills > 1);
  const auto database = open_database(url);
  if (!done) fill_sysbench(*database, options, {});
  CHECK(contents(*database, 3) == expected);
  CHECK_NOTHROW(match_loaded(*database, options));
}

TEST_CASE("loading twice, running without a load or on other sizes is refused by name") {
  lab::TempDir dir;
  const auto path = dir.free_path("db");
  const auto database = open_database("sqlite:" + path.string());
  CHECK_THROWS_WITH(match_loaded(*database, small()), ContainsSubstring("load first"));
  CHECK_THROWS_WITH(match_loaded(*database, small(), "oltp_write_only"),
                    ContainsSubstring("plimsoll oltp load oltp_write_only"));
  CHECK_FALSE(std::filesystem::exists(path));
  fill_sysbench(*database, small(1, 100), {});
  CHECK_THROWS_WITH(fill_sysbench(*database, small(1, 100), {}),
                    ContainsSubstring("loaded already"));
  CHECK_THROWS_WITH(match_loaded(*database, small(2, 100)), ContainsSubstring("--tables 1"));
  CHECK_THROWS_WITH(match_loaded(*database, small(1, 200)), ContainsSubstring("--table-size 100"));
  database->run_script("DROP TABLE sbtest1");
  CHECK_THROWS_WITH(match_loaded(*database, small(1, 100)), ContainsSubstring("sbtest1 is gone"));
}

TEST_CASE("tables that another tool made are named and not touched") {
  lab::TempDir dir;
  const auto database = open_database("sqlite:" + dir.free_path("db").string());
  {
    const auto bulk = database->connect_bulk();
    execute_or_throw(bulk->session(), "CREATE TABLE sbtest1 (id INTEGER PRIMARY KEY)");
    bulk->finish();
  }
  CHECK_THROWS_WITH(match_loaded(*database, small()), ContainsSubstring("not loaded by Plimsoll"));
  CHECK_THROWS_WITH(fill_sysbench(*database, small(), {}),
                    ContainsSubstring("not loaded by Plimsoll"));
  CHECK_THROWS_WITH(drop_sysbench(*database), ContainsSubstring("not loaded by Plimsoll"));
  CHECK(database->tables().size() == 1);
}

TEST_CASE("a drop removes the tables, the marker and the file that held nothing else") {
  lab::TempDir dir;
  const auto path = dir.free_path("db");
  const auto database = open_database("sqlite:" + path.string());
  fill_sysbench(*database, small(2, 100), {});
  CHECK(drop_sysbench(*database) == 2);
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(drop_sysbench(*database) == 0);

  fill_sysbench(*database, small(1, 100), {});
  database->run_script("CREATE TABLE mine (a)");
  CHECK(drop_sysbench(*database) == 1);
  CHECK(database->tables() == DbTables{{"mine", {"a"}}});
}

TEST_CASE("too little space is refused before a row is written") {
  SmallDrive drive(2);
  if (!drive.mounted) return lab::skip("no right to mount");
  const auto path = drive.path / "db";
  const auto database = open_database("sqlite:" + path.string());
  CHECK_THROWS_WITH(fill_sysbench(*database, small(), {}), ContainsSubstring("free"));
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a drive that fills up during a load: it says how much is missing and removes all") {
  SmallDrive drive(24);
  if (!drive.mounted) return lab::skip("no right to mount");
  const auto path = drive.path / "db";
  const auto database = open_database("sqlite:" + path.string());
  LoadHooks hooks;
  hooks.progress = [&](const Progress&) {  // another takes the space
    std::ofstream other(drive.path / "other", std::ios::binary);
    const std::string megabyte(1 << 20, 'x');
    while (other.write(megabyte.data(), static_cast<std::streamsize>(megabyte.size()))) {
    }
  };
  CHECK_THROWS_WITH(fill_sysbench(*database, small(1, 90'000), hooks),
                    ContainsSubstring("the drive is full") && ContainsSubstring("more are needed"));
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a load is a part of the record, its result the facts") {
  lab::TempDir dir;
  const auto database = open_database("sqlite:" + dir.free_path("db").string());
  Record record = Record::create(dir.free_path("run"), RunSpec{});
  load_sysbench(*database, small(1, 100), record, "load", {});
  const auto parts = record.parts();
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].kind == "load");
  CHECK(parts[0].facts["rows"] == 100);
  CHECK(parts[0].facts["seconds"].get<double>() > 0);
}

}  // namespace plimsoll
