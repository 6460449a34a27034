#include <sys/mount.h>
#include <unistd.h>

#include "oltp/database/sqlite_session.h"
#include "oltp/database/statements.h"
#include "tests/catch.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"

namespace plimsoll {
namespace {

std::string message_of(const std::function<void()>& act, ExitCode code) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("nothing was thrown");
  return {};
}

std::unique_ptr<Database> make_database(const std::string& url) {
  auto database = open_database(url);
  const auto bulk = database->connect_bulk();
  execute_or_throw(bulk->session(), "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)");
  bulk->finish();
  return database;
}

}  // namespace

TEST_CASE("a URL's settings are those the database answers with") {
  lab::TempDir dir;
  const auto database = make_database("sqlite:" + dir.free_path("db").string() +
                                      "?cache=8MiB&synchronous=extra&page_size=8k&"
                                      "wal_autocheckpoint=250&mmap=1MiB&busy=2s");
  const auto environment = database->environment();
  CHECK(environment["journal_mode"] == "wal");
  CHECK(environment["synchronous"] == "extra");
  CHECK(environment["page_size_bytes"] == 8192);
  CHECK(environment["cache_size_bytes"] == 8 << 20);
  CHECK(environment["wal_autocheckpoint_pages"] == 250);
  CHECK(environment["mmap_size_bytes"] == 1 << 20);
  CHECK(environment["busy_wait_ns"] == 2'000'000'000);
  CHECK(environment["compile_options"].size() > 5);
}

TEST_CASE("by default every commit is flushed to a write-ahead log") {
  lab::TempDir dir;
  const auto database = make_database("sqlite:" + dir.free_path("db").string());
  CHECK(database->environment()["journal_mode"] == "wal");
  CHECK(database->environment()["synchronous"] == "full");
  for (const PreflightFinding& finding : database->preflight()) CHECK_FALSE(finding.refuses);
}

TEST_CASE("synchronous=normal is refused as not durable") {
  lab::TempDir dir;
  const std::string path = "sqlite:" + dir.free_path("db").string();
  make_database(path);
  const auto findings = open_database(path + "?synchronous=normal")->preflight();
  REQUIRE_FALSE(findings.empty());
  CHECK(findings.front().warning.id == "not-durable");
  CHECK(findings.front().refuses);
}

TEST_CASE("a URL that makes no sense says what would") {
  const auto check = [](const std::string& url, const std::string& words) {
    CHECK_THAT(message_of([&] { open_database(url); }, ExitCode::kUsage), ContainsSubstring(words));
  };
  check("oracle:x", "sqlite:PATH");
  check("sqlite", "sqlite:PATH");
  check("", "sqlite:PATH");
  check("sqlite:", "needs the path");
  check("sqlite:x?cash=1m", "cache");
  check("sqlite:x?cache", "cache=64MiB");
  check("sqlite:x?cache=2TiB", "less");
  check("sqlite:x?synchronous=maybe", "full");
  check("sqlite:x?page_size=5000", "power of two");
  check("sqlite:x?wal_autocheckpoint=-1", "1000");
}

TEST_CASE("a path with a question mark ends with another") {
  CHECK(parse_sqlite_url("sqlite:/a?b?").path == "/a?b");
  CHECK(parse_sqlite_url("sqlite:/a?b?busy=1s").path == "/a?b");
  CHECK(parse_sqlite_url("sqlite:/a b").path == "/a b");
}

TEST_CASE("files that are no database of ours are named, and left as they were") {
  lab::TempDir dir;
  const auto connect = [](const std::string& path) {
    return [path] { open_database("sqlite:" + path + "?busy=50ms")->connect(); };
  };
  const auto missing = dir.free_path("missing");
  CHECK_THAT(message_of(connect(missing), ExitCode::kUsage), ContainsSubstring("oltp load"));
  CHECK_FALSE(std::filesystem::exists(missing));

  const auto text = dir.free_path("text");
  lab::write_text(text, std::string(5000, 'x'));
  CHECK_THAT(message_of(connect(text), ExitCode::kUsage),
             ContainsSubstring("not a SQLite database"));
  CHECK(lab::read_text(text) == std::string(5000, 'x'));

  CHECK_THAT(message_of(connect(dir.path()), ExitCode::kUsage),
             ContainsSubstring("can't be opened"));
}

TEST_CASE("a file on a read-only mount is refused as read-only") {
  lab::TempDir dir;
  const auto folder = dir.free_path("mount");
  std::filesystem::create_directory(folder);
  make_database("sqlite:" + (folder / "db").string());
  if (mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return lab::skip("no right to mount");
  }
  mount(nullptr, folder.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr);
  const auto url = "sqlite:" + (folder / "db").string();
  const std::string words = message_of([&] { open_database(url)->connect(); }, ExitCode::kRefused);
  umount(folder.c_str());
  CHECK_THAT(words, ContainsSubstring("read-only"));
}

TEST_CASE("a file that another holds locked is named as locked, after the wait that was asked") {
  lab::TempDir dir;
  const auto url = "sqlite:" + dir.free_path("db").string() + "?busy=50ms";
  const auto database = make_database(url);
  const auto bulk = database->connect_bulk();  // holds it for itself alone
  execute_or_throw(bulk->session(), "INSERT INTO t (s) VALUES ('x')");
  CHECK_THAT(message_of([&] { database->connect(); }, ExitCode::kBroke),
             ContainsSubstring("locked"));
  CHECK_THAT(message_of([&] { database->connect_bulk(); }, ExitCode::kBroke),
             ContainsSubstring("locked"));
}

TEST_CASE("a load that is not finished leaves the durable settings restored") {
  lab::TempDir dir;
  const auto path = dir.free_path("db");
  const auto database = make_database("sqlite:" + path.string());
  database->connect_bulk();
  const auto options = parse_sqlite_url("sqlite:" + path.string());
  SqliteConnection connection(options, SqliteConnection::Open::kExisting);
  CHECK(connection.pragma("journal_mode") == "wal");
}

TEST_CASE("strings keep their NULs in SQLite") {
  lab::TempDir dir;
  const auto database = make_database("sqlite:" + dir.free_path("db").string());
  const auto session = database->connect();
  const std::string_view text("a\0b", 3);
  execute_or_throw(*session, "INSERT INTO t (s) VALUES (?)", std::array<DbView, 1>{text});
  execute_or_throw(*session, "SELECT s FROM t");
  CHECK(session->rows().at(0, 0) == DbView(text));
}

TEST_CASE("SQLite's result codes map to what a loop does about them") {
  CHECK(map_sqlite_error(SQLITE_BUSY, "").outcome == Outcome::kRetryable);
  CHECK(map_sqlite_error(SQLITE_BUSY_SNAPSHOT, "").outcome == Outcome::kRetryable);
  CHECK(map_sqlite_error(SQLITE_LOCKED_SHAREDCACHE, "").outcome == Outcome::kRetryable);
  CHECK(map_sqlite_error(SQLITE_CONSTRAINT_CHECK, "").outcome == Outcome::kFailed);
  CHECK(map_sqlite_error(SQLITE_IOERR_FSYNC, "").outcome == Outcome::kFatal);
  CHECK(map_sqlite_error(SQLITE_FULL, "").outcome == Outcome::kFatal);
  CHECK(map_sqlite_error(SQLITE_FULL, "").no_space);
  CHECK_FALSE(map_sqlite_error(SQLITE_IOERR, "").no_space);
  CHECK(map_sqlite_error(SQLITE_BUSY_SNAPSHOT, "").code == "SQLITE_BUSY_SNAPSHOT");
  CHECK(map_sqlite_error(SQLITE_IOERR_FSYNC, "").code == "SQLITE_IOERR/4");
}

TEST_CASE("named statements: a dialect replaces by name, and nothing else") {
  const auto common = Statements::parse(
      "-- about\n-- name: one\nSELECT 1\n  FROM t{n} WHERE a = ?\n\n-- name: two\nSELECT 2;\n");
  CHECK(common.sql("one", 7) == "SELECT 1\n  FROM t7 WHERE a = ?");
  CHECK(common.sql("two") == "SELECT 2");
  Statements dialect = common;
  dialect.override_with(Statements::parse("-- name: two\nSELECT TOP 2\n"), "d");
  CHECK(dialect.sql("two") == "SELECT TOP 2");
  CHECK_THROWS_WITH(dialect.override_with(Statements::parse("-- name: three\nX"), "d"),
                    ContainsSubstring("three"));
  CHECK_THROWS_WITH(dialect.override_with(Statements::parse("-- name: one\nSELECT 1"), "d"),
                    ContainsSubstring("parameters"));
}

}  // namespace plimsoll
