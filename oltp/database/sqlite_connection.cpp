#include "oltp/database/sqlite_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <system_error>

#include "results/base/error.h"
#include "results/base/units.h"
#include "results/measure/clock.h"

namespace plimsoll {
namespace {

struct CodeName {
  int code;
  std::string_view name;
  Outcome outcome;
};

constexpr std::array<CodeName, 17> kCodes = {{
    {SQLITE_BUSY, "SQLITE_BUSY", Outcome::kRetryable},
    {SQLITE_BUSY_SNAPSHOT, "SQLITE_BUSY_SNAPSHOT", Outcome::kRetryable},
    {SQLITE_BUSY_RECOVERY, "SQLITE_BUSY_RECOVERY", Outcome::kRetryable},
    {SQLITE_LOCKED, "SQLITE_LOCKED", Outcome::kRetryable},
    {SQLITE_CONSTRAINT, "SQLITE_CONSTRAINT", Outcome::kFailed},
    {SQLITE_CONSTRAINT_PRIMARYKEY, "SQLITE_CONSTRAINT_PRIMARYKEY", Outcome::kFailed},
    {SQLITE_CONSTRAINT_UNIQUE, "SQLITE_CONSTRAINT_UNIQUE", Outcome::kFailed},
    {SQLITE_CONSTRAINT_NOTNULL, "SQLITE_CONSTRAINT_NOTNULL", Outcome::kFailed},
    {SQLITE_MISMATCH, "SQLITE_MISMATCH", Outcome::kFailed},
    {SQLITE_TOOBIG, "SQLITE_TOOBIG", Outcome::kFailed},
    {SQLITE_FULL, "SQLITE_FULL", Outcome::kFatal},
    {SQLITE_IOERR, "SQLITE_IOERR", Outcome::kFatal},
    {SQLITE_CORRUPT, "SQLITE_CORRUPT", Outcome::kFatal},
    {SQLITE_NOTADB, "SQLITE_NOTADB", Outcome::kFatal},
    {SQLITE_READONLY, "SQLITE_READONLY", Outcome::kFatal},
    {SQLITE_CANTOPEN, "SQLITE_CANTOPEN", Outcome::kFatal},
    {SQLITE_ERROR, "SQLITE_ERROR", Outcome::kFatal},
}};

const CodeName* find_code(int code) {
  const auto found = std::ranges::find(kCodes, code, &CodeName::code);
  return found == kCodes.end() ? nullptr : &*found;
}

bool is_locked(int code) {
  return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

}  // namespace

DbError map_sqlite_error(int extended, const char* message) {
  const bool no_space = (extended & 0xff) == SQLITE_FULL;
  const bool duplicate_key =
      extended == SQLITE_CONSTRAINT_PRIMARYKEY || extended == SQLITE_CONSTRAINT_UNIQUE;
  if (const CodeName* exact = find_code(extended)) {
    return {exact->outcome, std::string(exact->name), message, no_space, duplicate_key};
  }
  if (const CodeName* primary = find_code(extended & 0xff)) {
    return {primary->outcome, fmt::format("{}/{}", primary->name, extended >> 8), message, no_space,
            duplicate_key};
  }
  return {Outcome::kFatal, fmt::format("SQLITE/{}", extended), message, no_space, duplicate_key};
}

SqliteConnection::SqliteConnection(const SqliteOptions& options, Open how)
    : options_(options), jitter_(std::random_device()() | 1U) {
  const std::string path = options.path.string();
  std::error_code ignored;
  if (how == Open::kExisting && !std::filesystem::exists(options.path, ignored)) {
    throw UsageError(
        fmt::format("there is no database at {}: load one first with `plimsoll oltp load`", path));
  }
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (how == Open::kCreate ? SQLITE_OPEN_CREATE : 0);
  const int result = sqlite3_open_v2(path.c_str(), &db_, flags, nullptr);
  if (result == SQLITE_OK) {
    sqlite3_busy_handler(db_, wait_for_lock, this);
    try {
      check_usable();
      return;
    } catch (...) {
      sqlite3_close_v2(db_);
      throw;
    }
  }
  const std::string words = std::system_category().message(sqlite3_system_errno(db_));
  sqlite3_close_v2(db_);
  throw UsageError(
      fmt::format("{} can't be opened as a database ({}): name a file in a folder "
                  "that exists and may be written",
                  path, words));
}

SqliteConnection::~SqliteConnection() {
  sqlite3_close_v2(db_);
}

void SqliteConnection::check_usable() {
  if (sqlite3_db_readonly(db_, "main") == 1) {
    throw RefusedError(
        fmt::format("{} is read-only: make it and its folder writable (a WAL needs "
                    "both), or name another",
                    options_.path.string()));
  }
  query("SELECT count(*) FROM sqlite_schema");
}

// SQLite's own waits grow to 100 ms, in which a free write lock stays idle. These grow to 5 ms with
// the time waited already, so that the drive and not the hand-over of the lock is measured.
int SqliteConnection::wait_for_lock(void* self, int times_called) {
  auto& connection = *static_cast<SqliteConnection*>(self);
  SystemClock& clock = SystemClock::instance();
  const std::int64_t now_ns = clock.now_ns();
  if (times_called == 0) connection.lock_wait_start_ns_ = now_ns;
  const std::int64_t waited_ns = now_ns - connection.lock_wait_start_ns_;
  if (waited_ns >= connection.options_.busy_ns) return 0;
  const std::int64_t step_ns = std::clamp<std::int64_t>(waited_ns / 4, 50'000, 5'000'000);
  connection.jitter_ ^= connection.jitter_ << 13;
  connection.jitter_ ^= connection.jitter_ >> 7;
  connection.jitter_ ^= connection.jitter_ << 17;
  const auto share = static_cast<std::int64_t>(connection.jitter_ % 1024);
  clock.sleep_until_ns(now_ns + step_ns / 2 + step_ns * share / 1024);
  return 1;
}

int SqliteConnection::try_exec(const std::string& sql) {
  return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
}

void SqliteConnection::exec(const std::string& sql) {
  if (try_exec(sql) != SQLITE_OK) raise(fmt::format("run `{}`", sql.substr(0, 120)));
}

std::vector<std::vector<std::string>> SqliteConnection::query(const std::string& sql) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [](void* out, int columns, char** values, char**) {
    std::vector<std::string> row;
    for (int i = 0; i < columns; ++i) row.emplace_back(values[i] == nullptr ? "" : values[i]);
    static_cast<std::vector<std::vector<std::string>>*>(out)->push_back(std::move(row));
    return 0;
  };
  if (sqlite3_exec(db_, sql.c_str(), add, &rows, nullptr) != SQLITE_OK) {
    raise(fmt::format("run `{}`", sql.substr(0, 120)));
  }
  return rows;
}

std::string SqliteConnection::pragma(const std::string& name) {
  const auto rows = query("PRAGMA " + name);
  return rows.empty() ? std::string() : rows.front().front();
}

void SqliteConnection::raise(const std::string& doing) {
  const int code = sqlite3_extended_errcode(db_);
  const std::string path = options_.path.string();
  if ((code & 0xff) == SQLITE_NOTADB) {
    throw UsageError(fmt::format("{} is not a SQLite database: name another file", path));
  }
  if (is_locked(code)) {
    throw BrokenError(fmt::format("{} is locked by another process (waited {}): end that one first",
                                  path, format_duration(options_.busy_ns)));
  }
  const DbError error = map_sqlite_error(code, sqlite3_errmsg(db_));
  const std::string text =
      fmt::format("cannot {} on {}: {} ({})", doing, path, error.message, error.code);
  if (error.no_space) throw NoSpaceError(text + ": free some space there");
  throw BrokenError(text);
}

void configure_for_run(SqliteConnection& connection, const SqliteOptions& options) {
  connection.exec(
      fmt::format("PRAGMA cache_size=-{}", std::max<std::uint64_t>(options.cache_bytes / 1024, 1)));
  connection.exec("PRAGMA synchronous=" + options.synchronous);
  connection.exec(fmt::format("PRAGMA wal_autocheckpoint={}", options.wal_autocheckpoint_pages));
  connection.exec(fmt::format("PRAGMA mmap_size={}", options.mmap_bytes));
  const std::string mode = connection.pragma("journal_mode=WAL");
  if (mode != "wal") {
    throw BrokenError(
        fmt::format("{} stays in journal mode '{}' instead of WAL: its file system "
                    "lacks shared memory; place it on a local drive",
                    options.path.string(), mode));
  }
}

}  // namespace plimsoll
