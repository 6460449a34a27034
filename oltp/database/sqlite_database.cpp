#include "oltp/database/sqlite_database.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "oltp/database/sqlite_session.h"
#include "oltp/server/memory_bound.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 4> kFileSuffixes = {"", "-wal", "-shm", "-journal"};

std::int64_t number(const std::string& text) {
  return std::strtoll(text.c_str(), nullptr, 10);
}

std::string synchronous_name(const std::string& level) {
  static constexpr std::array<const char*, 4> kNames = {"off", "normal", "full", "extra"};
  const auto index = static_cast<std::size_t>(number(level));
  return index < kNames.size() ? kNames[index] : level;
}

// The answer to `PRAGMA cache_size` is pages, or when negative KiB.
std::int64_t cache_bytes(SqliteConnection& connection, std::int64_t page_bytes) {
  const std::int64_t size = number(connection.pragma("cache_size"));
  return size < 0 ? -size * 1024 : size * page_bytes;
}

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(SqliteOptions options) : options_(std::move(options)) {}

  std::unique_ptr<Session> connect() override {
    return std::make_unique<SqliteSession>(open_for_run(), writers_);
  }
  std::string engine() const override { return "sqlite"; }
  nlohmann::ordered_json environment() override;
  std::vector<PreflightFinding> preflight() override;
  std::optional<std::uint64_t> memory_bytes() override { return memory_bytes_of(getpid()); }
  void run_script(const std::string& sql) override { open_for_run()->exec(sql); }

  std::unique_ptr<BulkLoad> connect_bulk() override {
    return std::make_unique<SqliteBulkLoad>(options_);
  }
  DbTables tables() override;
  std::uint64_t size_bytes() override;
  std::optional<std::uint64_t> free_bytes() override;
  void reclaim() override;
  bool discard() override;
  std::string data_path() const override { return options_.path.string(); }

 private:
  std::unique_ptr<SqliteConnection> open_for_run() const {
    auto connection =
        std::make_unique<SqliteConnection>(options_, SqliteConnection::Open::kExisting);
    configure_for_run(*connection, options_);
    return connection;
  }
  std::filesystem::path folder() const {
    return std::filesystem::absolute(options_.path).parent_path();
  }

  const SqliteOptions options_;
  const std::shared_ptr<WriterQueue> writers_ = std::make_shared<WriterQueue>();
};

nlohmann::ordered_json SqliteDatabase::environment() {
  const auto connection = open_for_run();
  const std::int64_t page_bytes = number(connection->pragma("page_size"));
  nlohmann::ordered_json compile_options = nlohmann::ordered_json::array();
  for (const auto& row : connection->query("PRAGMA compile_options")) {
    compile_options.push_back(row.front());
  }
  return {{"engine", "sqlite"},
          {"version", sqlite3_libversion()},
          {"path", options_.path.string()},
          {"size_bytes", size_bytes()},
          {"journal_mode", connection->pragma("journal_mode")},
          {"synchronous", synchronous_name(connection->pragma("synchronous"))},
          {"page_size_bytes", page_bytes},
          {"cache_size_bytes", cache_bytes(*connection, page_bytes)},
          {"wal_autocheckpoint_pages", number(connection->pragma("wal_autocheckpoint"))},
          {"mmap_size_bytes", number(connection->pragma("mmap_size"))},
          {"secure_delete", number(connection->pragma("secure_delete"))},
          {"auto_vacuum", number(connection->pragma("auto_vacuum"))},
          {"busy_wait_ns", options_.busy_ns},
          {"writers", "wait in order within this process"},
          {"compile_options", compile_options}};
}

std::vector<PreflightFinding> SqliteDatabase::preflight() {
  std::vector<PreflightFinding> findings;
  const std::string level = synchronous_name(open_for_run()->pragma("synchronous"));
  if (level == "off" || level == "normal") {
    findings.push_back(
        {{"not-durable",
          fmt::format("SQLite runs with synchronous={}: a commit is confirmed before "
                      "it is on the drive",
                      level)},
         true});
  }
  return findings;
}

DbTables SqliteDatabase::tables() {
  DbTables tables;
  std::error_code ignored;
  if (!std::filesystem::exists(options_.path, ignored)) return tables;
  SqliteConnection connection(options_, SqliteConnection::Open::kExisting);
  for (const auto& row : connection.query(
           "SELECT lower(t.name), lower(c.name) FROM sqlite_schema t, pragma_table_info(t.name) c "
           "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid")) {
    tables[row[0]].push_back(row[1]);
  }
  return tables;
}

std::uint64_t SqliteDatabase::size_bytes() {
  std::uint64_t total = 0;
  for (const std::string_view suffix : kFileSuffixes) {
    std::error_code missing;
    const auto size =
        std::filesystem::file_size(options_.path.string() + std::string(suffix), missing);
    if (!missing) total += size;
  }
  return total;
}

std::optional<std::uint64_t> SqliteDatabase::free_bytes() {
  struct statvfs space = {};
  if (statvfs(folder().c_str(), &space) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

void SqliteDatabase::reclaim() {
  std::error_code ignored;
  if (std::filesystem::exists(options_.path, ignored) && tables().empty()) discard();
}

bool SqliteDatabase::discard() {
  std::error_code ignored;
  for (const std::string_view suffix : kFileSuffixes) {
    std::filesystem::remove(options_.path.string() + std::string(suffix), ignored);
  }
  return true;
}

}  // namespace

std::unique_ptr<Database> open_sqlite_database(const std::string& url) {
  return std::make_unique<SqliteDatabase>(parse_sqlite_url(url));
}

}  // namespace plimsoll
