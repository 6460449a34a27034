#include "oltp/database/odbc_database.h"

#include <fmt/format.h>

#include <mutex>

#include "oltp/database/odbc_session.h"
#include "oltp/database/sql_text.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

class OdbcDatabase final : public Database {
 public:
  explicit OdbcDatabase(std::string text) : text_(std::move(text)) {}

  std::unique_ptr<Session> connect() override { return std::make_unique<OdbcSession>(text_); }
  // Of what answers at the other end, asked once.
  std::string engine() const override {
    std::call_once(asked_, [this] { engine_ = open()->dialect().engine; });
    return engine_;
  }
  nlohmann::ordered_json environment() override;
  std::vector<PreflightFinding> preflight() override;
  void run_script(const std::string& sql) override {
    const auto connection = open();
    for (const auto& statement : split_statements(sql)) query_odbc(*connection, statement);
  }

  std::unique_ptr<BulkLoad> connect_bulk() override {
    return std::make_unique<OdbcBulkLoad>(text_);
  }
  DbTables tables() override;
  std::uint64_t size_bytes() override {
    const auto connection = open();
    return std::stoull(
        query_odbc(*connection, std::string(connection->dialect().size)).at(0).at(0));
  }
  std::optional<std::uint64_t> free_bytes() override { return std::nullopt; }
  void reclaim() override {}
  std::string data_path() const override { return {}; }

 private:
  std::unique_ptr<OdbcConnection> open() const {
    auto connection = std::make_unique<OdbcConnection>(text_);
    connection->connect();
    return connection;
  }

  const std::string text_;
  mutable std::once_flag asked_;
  mutable std::string engine_;
};

// Views that a look-alike of SQL Server may lack: then nothing is said of them.
nlohmann::ordered_json sqlserver_settings(const OdbcConnection& connection) {
  nlohmann::ordered_json settings;
  try {
    const auto rows =
        query_odbc(connection,
                   "SELECT recovery_model_desc, delayed_durability_desc, page_verify_option_desc, "
                   "CAST(is_read_committed_snapshot_on AS INT), compatibility_level "
                   "FROM sys.databases WHERE name = DB_NAME()");
    static constexpr std::array<const char*, 5> kNames = {"recovery_model", "delayed_durability",
                                                          "page_verify", "read_committed_snapshot",
                                                          "compatibility_level"};
    for (std::size_t i = 0; i < kNames.size(); ++i) settings[kNames[i]] = rows.at(0).at(i);
    for (const auto& row : query_odbc(
             connection,
             "SELECT name, CAST(value_in_use AS BIGINT) FROM sys.configurations WHERE name IN "
             "('max server memory (MB)', 'recovery interval (min)', 'max degree of parallelism')"))
      settings[row.at(0)] = row.at(1);
  } catch (const BrokenError&) {
  }
  return settings;
}

nlohmann::ordered_json OdbcDatabase::environment() {
  const auto connection = open();
  nlohmann::ordered_json json;
  json["engine"] = connection->dialect().engine;
  json["product"] = connection->info(SQL_DBMS_NAME);
  json["version"] = connection->info(SQL_DBMS_VER);
  json["client"] = fmt::format("ODBC {} {}", connection->info(SQL_DRIVER_NAME),
                               connection->info(SQL_DRIVER_VER));
  json["size_bytes"] = size_bytes();
  if (connection->dialect().engine == "sqlserver")
    json["settings"] = sqlserver_settings(*connection);
  return json;
}

std::vector<PreflightFinding> OdbcDatabase::preflight() {
  std::vector<PreflightFinding> findings;
  const auto connection = open();
  if (connection->dialect().engine != "sqlserver") return findings;
  const auto settings = sqlserver_settings(*connection);
  const std::string delayed = settings.value("delayed_durability", "DISABLED");
  if (delayed != "DISABLED") {
    findings.push_back({{"not-durable", fmt::format("SQL Server runs with delayed durability {}: a "
                                                    "commit is confirmed before it is on the drive",
                                                    delayed)},
                        true});
  }
  return findings;
}

DbTables OdbcDatabase::tables() {
  const auto connection = open();
  DbTables tables;
  for (const auto& row : query_odbc(
           *connection, fmt::format("SELECT LOWER(table_name), LOWER(column_name) FROM "
                                    "information_schema.columns WHERE table_schema = {} ORDER BY "
                                    "table_name, ordinal_position",
                                    connection->dialect().schema)))
    tables[row.at(0)].push_back(row.at(1));
  return tables;
}

}  // namespace

std::unique_ptr<Database> open_odbc_database(const std::string& url) {
  return std::make_unique<OdbcDatabase>(url.substr(url.find(':') + 1));
}

}  // namespace plimsoll
