#include "oltp/database/postgresql_database.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "oltp/database/local_server.h"
#include "oltp/database/postgresql_session.h"
#include "oltp/server/memory_bound.h"

namespace plimsoll {
namespace {

// What decides over durability, caching and the log; read back, whoever set it.
constexpr std::array<std::string_view, 27> kPgRecordedSettings = {"fsync",
                                                                  "synchronous_commit",
                                                                  "full_page_writes",
                                                                  "wal_sync_method",
                                                                  "wal_level",
                                                                  "wal_compression",
                                                                  "wal_buffers",
                                                                  "wal_init_zero",
                                                                  "wal_recycle",
                                                                  "max_wal_size",
                                                                  "min_wal_size",
                                                                  "checkpoint_timeout",
                                                                  "checkpoint_completion_target",
                                                                  "shared_buffers",
                                                                  "effective_cache_size",
                                                                  "work_mem",
                                                                  "maintenance_work_mem",
                                                                  "block_size",
                                                                  "data_checksums",
                                                                  "huge_pages",
                                                                  "effective_io_concurrency",
                                                                  "bgwriter_delay",
                                                                  "autovacuum",
                                                                  "commit_delay",
                                                                  "max_connections",
                                                                  "default_transaction_isolation",
                                                                  "track_io_timing"};

class PostgresqlDatabase final : public Database {
 public:
  explicit PostgresqlDatabase(std::string url) : url_(std::move(url)) {}

  std::unique_ptr<Session> connect() override { return std::make_unique<PostgresqlSession>(url_); }
  std::string engine() const override { return "postgresql"; }
  nlohmann::ordered_json environment() override;
  std::vector<PreflightFinding> preflight() override;
  void run_script(const std::string& sql) override {
    query_postgresql(connect_postgresql(url_).get(), sql);
  }
  std::optional<std::uint64_t> memory_bytes() override;
  std::unique_ptr<DbProbe> probe() override { return open_postgresql_probe(url_); }

  std::unique_ptr<BulkLoad> connect_bulk() override {
    return std::make_unique<PostgresqlBulkLoad>(url_);
  }
  DbTables tables() override;
  std::uint64_t size_bytes() override {
    return std::stoull(value("SELECT pg_database_size(current_database())"));
  }
  std::optional<std::uint64_t> free_bytes() override { return free_bytes_at(data_path()); }
  void reclaim() override {}
  std::string data_path() const override;

 private:
  std::string value(const std::string& sql) const {
    return query_postgresql(connect_postgresql(url_).get(), sql).at(0).at(0);
  }

  const std::string url_;
};

nlohmann::ordered_json PostgresqlDatabase::environment() {
  const auto connection = connect_postgresql(url_);
  nlohmann::ordered_json json;
  json["engine"] = "postgresql";
  json["version"] = query_postgresql(connection.get(), "SHOW server_version")[0][0];
  json["client"] = fmt::format("libpq {}", PQlibVersion());
  json["tls"] = PQsslInUse(connection.get()) != 0;
  json["size_bytes"] = size_bytes();
  nlohmann::ordered_json settings;
  const auto rows = query_postgresql(
      connection.get(),
      fmt::format("SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('{}')",
                  fmt::join(kPgRecordedSettings, "','")));
  for (const auto& row : rows) settings[row[0]] = row[1];
  json["settings"] = settings;
  return json;
}

std::vector<PreflightFinding> PostgresqlDatabase::preflight() {
  struct Rule {
    std::string_view setting;
    std::string_view lies;  // values under which a commit isn't on the drive, between commas
    std::string_view because;
  };
  static constexpr std::array<Rule, 3> kRules = {{
      {"fsync", ",off,", "nothing is ever flushed to the drive"},
      {"synchronous_commit", ",off,", "a commit is confirmed before it is on the drive"},
      {"full_page_writes", ",off,", "a torn page can't be repaired after a power failure"},
  }};
  std::vector<PreflightFinding> findings;
  const auto connection = connect_postgresql(url_);
  for (const auto& rule : kRules) {
    const auto set = query_postgresql(connection.get(), fmt::format("SHOW {}", rule.setting))[0][0];
    if (rule.lies.find("," + set + ",") == std::string_view::npos) continue;
    findings.push_back({{"not-durable", fmt::format("PostgreSQL runs with {}={}: {}", rule.setting,
                                                    set, rule.because)},
                        true});
  }
  return findings;
}

std::optional<std::uint64_t> PostgresqlDatabase::memory_bytes() {
  if (data_path().empty()) return std::nullopt;
  const auto connection = connect_postgresql(url_);
  const auto pid = query_postgresql(connection.get(), "SELECT pg_backend_pid()").at(0).at(0);
  return memory_bytes_of(static_cast<pid_t>(std::stol(pid)));
}

DbTables PostgresqlDatabase::tables() {
  DbTables tables;
  for (const auto& row : query_postgresql(
           connect_postgresql(url_).get(),
           "SELECT lower(table_name), lower(column_name) FROM information_schema.columns "
           "WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position"))
    tables[row[0]].push_back(row[1]);
  return tables;
}

// Only roles that may read all settings are told; a server that isn't on this machine has no path
// here.
std::string PostgresqlDatabase::data_path() const {
  const auto connection = connect_postgresql(url_);
  const auto rows = query_postgresql(
      connection.get(), "SELECT setting FROM pg_settings WHERE name = 'data_directory'");
  const char* host = PQhost(connection.get());
  return rows.empty() || !is_local_host(host == nullptr ? "" : host) ? "" : rows[0][0];
}

}  // namespace

std::unique_ptr<Database> open_postgresql_database(const std::string& url) {
  return std::make_unique<PostgresqlDatabase>(url);
}

}  // namespace plimsoll
