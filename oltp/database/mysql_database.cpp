#include "oltp/database/mysql_database.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <fstream>

#include "oltp/database/local_server.h"
#include "oltp/database/mysql_session.h"
#include "oltp/server/memory_bound.h"

namespace plimsoll {
namespace {

// What decides over durability, caching and the log; read back, whoever set it.
constexpr std::array<std::string_view, 29> kMysqlRecordedSettings = {
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_use_fdatasync",
    "innodb_use_native_aio",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_redo_log_capacity",
    "innodb_log_buffer_size",
    "innodb_page_size",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_flush_neighbors",
    "innodb_checksum_algorithm",
    "innodb_file_per_table",
    "innodb_read_io_threads",
    "innodb_write_io_threads",
    "innodb_snapshot_isolation",
    "innodb_data_file_buffering",
    "innodb_log_file_buffering",
    "max_connections",
    "max_prepared_stmt_count",
    "performance_schema",
    "transaction_isolation",
    "tx_isolation",
    "thread_handling"};

class MysqlDatabase final : public Database {
 public:
  explicit MysqlDatabase(const std::string& url) : text_(url), url_(parse_mysql_url(url)) {}

  std::unique_ptr<Session> connect() override { return std::make_unique<MysqlSession>(url_); }
  std::string engine() const override { return "mysql"; }
  nlohmann::ordered_json environment() override;
  std::vector<PreflightFinding> preflight() override;
  void run_script(const std::string& sql) override;
  std::optional<std::uint64_t> memory_bytes() override;
  std::unique_ptr<DbProbe> probe() override { return open_mysql_probe(text_); }

  std::unique_ptr<BulkLoad> connect_bulk() override {
    return std::make_unique<MysqlBulkLoad>(url_);
  }
  DbTables tables() override;
  std::uint64_t size_bytes() override;
  std::optional<std::uint64_t> free_bytes() override { return free_bytes_at(data_path()); }
  void reclaim() override {}
  std::string data_path() const override;

 private:
  std::string value(MYSQL* connection, const std::string& expression) const {
    return query_mysql(connection, "SELECT " + expression).at(0).at(0);
  }

  const std::string text_;
  const ConnectionUrl url_;
};

std::map<std::string, std::string> variables(MYSQL* connection) {
  std::map<std::string, std::string> values;
  for (const auto& row :
       query_mysql(connection, fmt::format("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{}')",
                                           fmt::join(kMysqlRecordedSettings, "','"))))
    values[row[0]] = row[1];
  return values;
}

nlohmann::ordered_json MysqlDatabase::environment() {
  const auto connection = connect_mysql(url_);
  const std::string version = value(connection.get(), "VERSION()");
  nlohmann::ordered_json json;
  json["engine"] = "mysql";
  json["product"] = version.find("MariaDB") != std::string::npos ? "MariaDB" : "MySQL";
  json["version"] = version;
  json["client"] = fmt::format("libmariadb {}", mysql_get_client_info());
  json["tls"] = mysql_get_ssl_cipher(connection.get()) != nullptr;
  json["size_bytes"] = size_bytes();
  json["settings"] = variables(connection.get());
  return json;
}

std::vector<PreflightFinding> MysqlDatabase::preflight() {
  const auto connection = connect_mysql(url_);
  const auto set = variables(connection.get());
  std::vector<PreflightFinding> findings;
  const auto require = [&](const std::string& name, std::string_view wanted,
                           std::string_view because) {
    const auto found = set.find(name);
    if (found == set.end() || found->second == wanted) return;
    findings.push_back({{"not-durable", fmt::format("the server runs with {}={}: {}", name,
                                                    found->second, because)},
                        true});
  };
  require("innodb_flush_log_at_trx_commit", "1", "a commit is confirmed before it is on the drive");
  require("innodb_doublewrite", "ON", "a torn page can't be repaired after a power failure");
  if (set.contains("log_bin") && set.at("log_bin") == "ON")
    require("sync_binlog", "1", "the binary log may lack what was committed");
  return findings;
}

std::optional<std::uint64_t> MysqlDatabase::memory_bytes() {
  if (data_path().empty()) return std::nullopt;
  std::ifstream pid_file(value(connect_mysql(url_).get(), "@@pid_file"));
  pid_t pid = -1;
  pid_file >> pid;
  return memory_bytes_of(pid);
}

void MysqlDatabase::run_script(const std::string& sql) {
  const auto connection = connect_mysql(url_);
  for (const auto& statement : split_statements(sql)) query_mysql(connection.get(), statement);
}

DbTables MysqlDatabase::tables() {
  DbTables tables;
  const auto connection = connect_mysql(url_);
  for (const auto& row :
       query_mysql(connection.get(),
                   "SELECT LOWER(table_name), LOWER(column_name) FROM information_schema.columns "
                   "WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position"))
    tables[row[0]].push_back(row[1]);
  return tables;
}

// InnoDB's estimate: its statistics may be a little behind.
std::uint64_t MysqlDatabase::size_bytes() {
  const auto connection = connect_mysql(url_);
  return std::stoull(query_mysql(connection.get(),
                                 "SELECT COALESCE(CAST(SUM(data_length + index_length) AS UNSIGNED)"
                                 ", 0) FROM information_schema.tables WHERE table_schema = "
                                 "DATABASE()")[0][0]);
}

std::string MysqlDatabase::data_path() const {
  const auto host = url_.settings.contains("socket") ? "" : url_.host;
  if (!is_local_host(host)) return {};
  const auto connection = connect_mysql(url_);
  return value(connection.get(), "@@datadir");
}

}  // namespace

std::unique_ptr<Database> open_mysql_database(const std::string& url) {
  return std::make_unique<MysqlDatabase>(url);
}

}  // namespace plimsoll
