// Connections that can't be made say what mends them, and never a password.
#include <fmt/format.h>

#include <cstdlib>

#include "oltp/database/database.h"
#include "oltp/server/private_server.h"
#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/lab/skip.h"
#include "tests/oltp/database_servers.h"

namespace plimsoll {
namespace {

constexpr const char* kPassword = "p@ss:w/rd?&%41";

struct Password {
  explicit Password(const char* text) { ::setenv("PLIMSOLL_DB_PASSWORD", text, 1); }
  ~Password() { ::unsetenv("PLIMSOLL_DB_PASSWORD"); }
};

std::string error_of(const std::string& url) {
  try {
    open_database(url)->connect();
  } catch (const Error& error) {
    return error.what();
  }
  return "connected";
}

void check_mend(const std::string& url, const std::string& mend) {
  INFO(url);
  const std::string error = error_of(url);
  CHECK_THAT(error, Catch::Matchers::Contains(mend));
  CHECK(error.find("wrong-secret") == std::string::npos);
  CHECK(error.find('\n') == std::string::npos);
}

std::unique_ptr<PrivateServer> tcp_server(const std::string& engine, const lab::TempDir& dir,
                                          unsigned max_connections = 100) {
  if (find_binaries(server_kind(engine)).empty()) {
    lab::skip(engine + "'s server is not installed");
    return nullptr;
  }
  ServerOptions options;
  options.engine = engine;
  options.place = dir.path();
  options.memory_bytes = 256ULL << 20;
  options.bounded = false;
  options.tcp = true;
  options.max_connections = max_connections;
  return std::make_unique<PrivateServer>(options);
}

TEST_CASE("PostgreSQL: password, database, TLS, connections, no server", "[slow]") {
  lab::OpenDir dir;
  const auto server = tcp_server("postgresql", dir, 2);
  if (!server) return;
  const auto database = open_database(server->url());
  database->run_script(fmt::format("CREATE ROLE u LOGIN PASSWORD '{}'", kPassword));
  const std::string at = fmt::format("127.0.0.1:{}", server->port());
  {
    const Password right(kPassword);
    CHECK(error_of("postgresql://u@" + at + "/postgres") == "connected");
  }
  check_mend("postgresql://u:wrong-secret@" + at + "/postgres", "PLIMSOLL_DB_PASSWORD");
  check_mend("postgresql://u@" + at + "/postgres", "PLIMSOLL_DB_PASSWORD");
  check_mend(fmt::format("postgresql://plimsoll@/nope?host={}&port={}",
                         server->socket_folder().string(), server->port()),
             "create the database");
  const Password right(kPassword);
  check_mend("postgresql://u@" + at + "/postgres?sslmode=require", "sslmode=disable");
  std::vector<std::unique_ptr<Session>> sessions;
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 0; i < 20; ++i)
          sessions.push_back(open_database("postgresql://u@" + at + "/postgres")->connect());
      }(),
      Catch::Matchers::Contains("max_connections"));
  sessions.clear();
  server->stop();
  check_mend("postgresql://u@" + at + "/postgres", "is the server running");
}

TEST_CASE("MariaDB: password, database, TLS, connections, no server", "[slow]") {
  lab::OpenDir dir;
  const auto server = tcp_server("mariadb", dir, 2);
  if (!server) return;
  const auto database = open_database(server->url());
  database->run_script(
      fmt::format("CREATE USER u@'127.0.0.1' IDENTIFIED BY '{}'; GRANT ALL ON plimsoll.* TO "
                  "u@'127.0.0.1'",
                  kPassword));
  const std::string at = fmt::format("127.0.0.1:{}", server->port());
  {
    const Password right(kPassword);
    CHECK(error_of("mysql://u@" + at + "/plimsoll") == "connected");
    CHECK(error_of("mysql://u@" + at + "/plimsoll?isolation=read-committed") == "connected");
    check_mend("mysql://u@" + at + "/plimsoll?ssl-mode=required", "ssl-mode=disabled");
    check_mend("mysql://u@" + at + "/nope", "GRANT");
  }
  check_mend("mysql://u:wrong-secret@" + at + "/plimsoll", "PLIMSOLL_DB_PASSWORD");
  check_mend("mysql://u@" + at + "/plimsoll?colour=red", "isolation");
  check_mend("mysql://u@" + at + "/plimsoll?isolation=none", "read-committed");
  check_mend("mysql://u@" + at, "names no database");
  const Password right(kPassword);
  database->run_script("SET GLOBAL max_prepared_stmt_count = 0");
  CHECK_THROWS_WITH(database->connect()->prepare("SELECT 1"),
                    Catch::Matchers::Contains("raise the server's max_prepared_stmt_count"));
  std::vector<std::unique_ptr<Session>> sessions;
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 0; i < 20; ++i)
          sessions.push_back(open_database("mysql://u@" + at + "/plimsoll")->connect());
      }(),
      Catch::Matchers::Contains("max_connections"));
  sessions.clear();
  server->stop();
  check_mend("mysql://u@" + at + "/plimsoll", "is the server running");
}

TEST_CASE("ODBC: a driver that isn't there is named") {
  check_mend("sqlserver:Driver={No Such Driver};Server=x;PWD=wrong-secret", "odbcinst");
}

TEST_CASE("an unknown scheme is refused without the password in it") {
  check_mend("db2://u:wrong-secret@h/x", "names no database");
}

TEST_CASE("not-durable settings are refused by name", "[slow]") {
  lab::OpenDir pg_dir, maria_dir;
  if (const auto server = tcp_server("postgresql", pg_dir)) {
    const auto database = open_database(server->url());
    database->run_script("ALTER SYSTEM SET synchronous_commit = off");
    database->run_script("SELECT pg_reload_conf()");
    int refused = 0;
    for (int i = 0; i < 50 && refused == 0; ++i) {
      for (const auto& finding : database->preflight())
        refused += finding.refuses && finding.warning.id == "not-durable" ? 1 : 0;
    }
    CHECK(refused == 1);
  }
  if (const auto server = tcp_server("mariadb", maria_dir)) {
    const auto database = open_database(server->url());
    database->run_script("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    int refused = 0;
    for (const auto& finding : database->preflight())
      refused += finding.refuses && finding.warning.id == "not-durable" ? 1 : 0;
    CHECK(refused == 1);
  }
}

}  // namespace
}  // namespace plimsoll
