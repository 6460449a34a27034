// What every database must do, the same for all. A new one joins by a line in kTargets.
#include <array>
#include <functional>
#include <optional>

#include "oltp/database/database.h"
#include "tests/catch.h"
#include "tests/lab/temp_dir.h"
#include "tests/oltp/database_servers.h"

namespace plimsoll {
namespace {

struct Target {
  std::string name;
  // The URL of an empty database; waits for another's lock at most 50 ms. Empty: not to be had
  // here (having printed why).
  std::function<std::optional<std::string>(lab::TempDir&)> url;
};

const std::vector<Target> kTargets = {
    {"sqlite",
     [](lab::TempDir& dir) { return "sqlite:" + dir.free_path("db").string() + "?busy=50ms"; }},
    {"postgresql", [](lab::TempDir&) { return lab::empty_database("postgresql"); }},
    {"mariadb", [](lab::TempDir&) { return lab::empty_database("mariadb"); }},
    {"odbc to postgresql", [](lab::TempDir&) { return lab::empty_database("postgresql", true); }},
    {"odbc to mariadb", [](lab::TempDir&) { return lab::empty_database("mariadb", true); }},
};

constexpr const char* kCreate =
    "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, i BIGINT, r DOUBLE PRECISION, s "
    "VARCHAR(9000))";

using Views = std::vector<DbView>;

// An empty database with table t.
struct Fixture {
  lab::TempDir dir;
  std::unique_ptr<Database> database;

  explicit Fixture(const Target& target) {
    const auto url = target.url(dir);
    if (!url) return;
    database = open_database(*url);
    const auto bulk = database->connect_bulk();
    execute_or_throw(bulk->session(), kCreate);
    bulk->finish();
  }
};

void each_target(const std::function<void(Database&)>& test) {
  for (const Target& target : kTargets) {
    INFO(target.name);
    Fixture fixture(target);
    if (fixture.database) test(*fixture.database);
  }
}

Outcome run(Session& session, const std::string& sql, const Views& parameters = {}) {
  return session.execute(session.prepare(sql), parameters);
}

std::int64_t count(Session& session) {
  REQUIRE(run(session, "SELECT COUNT(*) FROM t") == Outcome::kOk);
  return std::get<std::int64_t>(session.rows().at(0, 0));
}

Outcome insert(Session& session, std::int64_t id, DbView i = {}, DbView r = {}, DbView s = {}) {
  return run(session, "INSERT INTO t (id, i, r, s) VALUES (?, ?, ?, ?)", {id, i, r, s});
}

}  // namespace

TEST_CASE("a commit is visible to others, what is open is not, what is rolled back never is",
          "[conformance]") {
  each_target([](Database& database) {
    const auto writer = database.connect();
    const auto reader = database.connect();
    REQUIRE(writer->begin(Access::kReadWrite) == Outcome::kOk);
    REQUIRE(insert(*writer, 1) == Outcome::kOk);
    CHECK(count(*writer) == 1);
    CHECK(count(*reader) == 0);
    REQUIRE(writer->commit() == Outcome::kOk);
    CHECK(count(*reader) == 1);
    REQUIRE(writer->begin(Access::kReadWrite) == Outcome::kOk);
    REQUIRE(insert(*writer, 2) == Outcome::kOk);
    REQUIRE(writer->rollback() == Outcome::kOk);
    CHECK(count(*writer) == 1);
    CHECK(count(*reader) == 1);
  });
}

TEST_CASE("a statement outside a transaction commits by itself", "[conformance]") {
  each_target([](Database& database) {
    REQUIRE(insert(*database.connect(), 1) == Outcome::kOk);
    CHECK(count(*database.connect()) == 1);
  });
}

TEST_CASE("parameters of every type come back as they went in", "[conformance]") {
  const std::string long_text(8000, 'x');
  const std::vector<std::array<DbView, 3>> rows = {
      {std::monostate{}, std::monostate{}, std::monostate{}},
      {std::int64_t{0}, 0.0, std::string_view("")},
      {INT64_MAX, 1e300, std::string_view("it's \"quoted\"; -- \\ ? $1 %")},
      {INT64_MIN, -0.1, std::string_view("gr\xc3\xbc\xc3\x9f dich")},
      {std::int64_t{-1}, 2.5, std::string_view(long_text)}};
  each_target([&](Database& database) {
    const auto session = database.connect();
    for (std::size_t id = 0; id < rows.size(); ++id) {
      const auto& [i, r, s] = rows[id];
      REQUIRE(insert(*session, static_cast<std::int64_t>(id), i, r, s) == Outcome::kOk);
    }
    REQUIRE(run(*session, "SELECT i, r, s FROM t ORDER BY id") == Outcome::kOk);
    REQUIRE(session->rows().rows() == rows.size());
    REQUIRE(session->rows().columns() == 3);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        CHECK(session->rows().at(row, column) == rows[row][column]);
      }
    }
  });
}

TEST_CASE("a prepared statement runs again with other parameters, and says what it touched",
          "[conformance]") {
  each_target([](Database& database) {
    const auto session = database.connect();
    for (std::int64_t id = 1; id <= 3; ++id) REQUIRE(insert(*session, id, id) == Outcome::kOk);
    const StatementId update = session->prepare("UPDATE t SET i = i + ? WHERE id >= ?");
    const StatementId select = session->prepare("SELECT i FROM t WHERE id = ?");
    REQUIRE(session->execute(update, Views{std::int64_t{10}, std::int64_t{2}}) == Outcome::kOk);
    CHECK(session->rows().affected() == 2);
    REQUIRE(session->execute(update, Views{std::int64_t{100}, std::int64_t{9}}) == Outcome::kOk);
    CHECK(session->rows().affected() == 0);
    REQUIRE(session->execute(select, Views{std::int64_t{3}}) == Outcome::kOk);
    CHECK(session->rows().at(0, 0) == DbView(std::int64_t{13}));
    REQUIRE(session->execute(select, Views{std::int64_t{1}}) == Outcome::kOk);
    CHECK(session->rows().at(0, 0) == DbView(std::int64_t{1}));
    REQUIRE(session->execute(select, Views{std::int64_t{77}}) == Outcome::kOk);
    CHECK(session->rows().rows() == 0);
  });
}

TEST_CASE("two that write the same row: one is retryable, rolled back, and then succeeds",
          "[conformance]") {
  each_target([](Database& database) {
    const auto first = database.connect();
    const auto second = database.connect();
    REQUIRE(insert(*first, 1, std::int64_t{0}) == Outcome::kOk);
    const std::string update = "UPDATE t SET i = i + 1 WHERE id = 1";
    REQUIRE(first->begin(Access::kReadWrite) == Outcome::kOk);
    REQUIRE(run(*first, update) == Outcome::kOk);
    const auto attempt = [&] {
      const Outcome begun = second->begin(Access::kReadWrite);
      if (begun != Outcome::kOk) return begun;
      const Outcome updated = run(*second, update);
      return updated == Outcome::kOk ? second->commit() : updated;
    };
    CHECK(attempt() == Outcome::kRetryable);
    CHECK(second->error().outcome == Outcome::kRetryable);
    CHECK_FALSE(second->error().code.empty());
    CHECK_FALSE(second->error().message.empty());
    REQUIRE(first->commit() == Outcome::kOk);
    CHECK(attempt() == Outcome::kOk);
    REQUIRE(run(*first, "SELECT i FROM t WHERE id = 1") == Outcome::kOk);
    CHECK(first->rows().at(0, 0) == DbView(std::int64_t{2}));
  });
}

TEST_CASE("a read-only transaction keeps no writer waiting, and sees one state throughout",
          "[conformance]") {
  each_target([](Database& database) {
    const auto reader = database.connect();
    const auto writer = database.connect();
    REQUIRE(reader->begin(Access::kReadOnly) == Outcome::kOk);
    CHECK(count(*reader) == 0);
    REQUIRE(writer->begin(Access::kReadWrite) == Outcome::kOk);
    REQUIRE(insert(*writer, 1) == Outcome::kOk);
    REQUIRE(writer->commit() == Outcome::kOk);
    REQUIRE(reader->commit() == Outcome::kOk);
    CHECK(count(*reader) == 1);
  });
}

// A driver of ODBC may leave the parsing to the first execute.
TEST_CASE("a statement that doesn't parse is an error that shows it", "[conformance]") {
  each_target([](Database& database) {
    const auto session = database.connect();
    try {
      const StatementId statement = session->prepare("SELEKT 1");
      CHECK(session->execute(statement, {}) == Outcome::kFailed);
      CHECK_THAT(session->error().message, ContainsSubstring("SELEKT 1"));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kBroke);
      CHECK_THAT(error.what(), ContainsSubstring("SELEKT 1"));
    }
    CHECK(count(*session) == 0);
  });
}

TEST_CASE("a duplicate key fails the transaction and not the session", "[conformance]") {
  each_target([](Database& database) {
    const auto session = database.connect();
    REQUIRE(insert(*session, 1) == Outcome::kOk);
    REQUIRE(session->begin(Access::kReadWrite) == Outcome::kOk);
    REQUIRE(insert(*session, 2) == Outcome::kOk);
    CHECK(insert(*session, 1) == Outcome::kFailed);
    CHECK(session->error().duplicate_key);
    CHECK_FALSE(session->error().code.empty());
    CHECK(count(*session) == 1);  // the whole transaction is gone
    CHECK(insert(*session, 2) == Outcome::kOk);
  });
}

TEST_CASE("a table that goes away under a prepared statement is fatal, with the database's words",
          "[conformance]") {
  each_target([](Database& database) {
    const auto session = database.connect();
    const StatementId select = session->prepare("SELECT i FROM t WHERE id = ?");
    database.run_script("DROP TABLE t");
    CHECK(session->execute(select, Views{std::int64_t{1}}) == Outcome::kFatal);
    CHECK_THAT(session->error().message, ContainsSubstring("t"));
  });
}

TEST_CASE("the environment names engine and version and is read back from the database",
          "[conformance]") {
  each_target([](Database& database) {
    const auto environment = database.environment();
    CHECK(environment.at("engine") == database.engine());
    CHECK_FALSE(environment.at("version").get<std::string>().empty());
  });
}

TEST_CASE("a bulk load adds rows that others see, and drops of all tables leave nothing",
          "[conformance]") {
  each_target([](Database& database) {
    {
      const auto bulk = database.connect_bulk();
      REQUIRE(bulk->session().begin(Access::kReadWrite) == Outcome::kOk);
      bulk->start_rows("t", {"id", "s"});
      for (std::int64_t id = 1; id <= 1000; ++id) {
        REQUIRE(bulk->add_row(Views{id, std::string_view("row")}) == Outcome::kOk);
      }
      REQUIRE(bulk->end_rows() == Outcome::kOk);
      REQUIRE(bulk->session().commit() == Outcome::kOk);
      bulk->finish();
    }
    CHECK(count(*database.connect()) == 1000);
    CHECK(database.tables().at("t") == std::vector<std::string>{"id", "i", "r", "s"});
    CHECK(database.size_bytes() > 0);
    database.run_script("DROP TABLE t");
    database.reclaim();
    CHECK(database.tables().empty());
  });
}

TEST_CASE("a batch does all of its statements, or nothing after the first error", "[conformance]") {
  each_target([](Database& database) {
    const auto session = database.connect();
    const StatementId add = session->prepare("INSERT INTO t (id) VALUES (?)");
    const auto batch = [&](std::int64_t first, std::int64_t second) {
      session->start_batch();
      Outcome outcome = session->begin(Access::kReadWrite);
      for (const std::int64_t id : {first, second}) {
        if (outcome == Outcome::kOk) outcome = session->execute(add, Views{id});
      }
      if (outcome == Outcome::kOk) outcome = session->commit();
      const Outcome ended = session->end_batch();
      return outcome == Outcome::kOk ? ended : outcome;
    };
    CHECK(batch(1, 2) == Outcome::kOk);
    CHECK(count(*session) == 2);
    CHECK(batch(3, 1) == Outcome::kFailed);
    CHECK_FALSE(session->error().code.empty());
    CHECK(count(*session) == 2);
    CHECK(batch(3, 4) == Outcome::kOk);
    CHECK(count(*session) == 4);
  });
}

}  // namespace plimsoll
