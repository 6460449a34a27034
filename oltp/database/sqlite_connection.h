// One SQLite handle: opened, configured, its errors mapped.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <vector>

#include "oltp/database/database.h"
#include "oltp/database/sqlite_options.h"

namespace plimsoll {

// BUSY, BUSY_SNAPSHOT and LOCKED are retryable; a constraint or a wrong type fails the transaction
// only; FULL, IOERR and all else are fatal. `extended` is an extended result code.
DbError map_sqlite_error(int extended, const char* message);

class SqliteConnection {
 public:
  enum class Open { kExisting, kCreate };
  // Throws UsageError (no such file, not a database), RefusedError (read-only), BrokenError.
  SqliteConnection(const SqliteOptions& options, Open how);
  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  sqlite3* handle() const { return db_; }
  const SqliteOptions& options() const { return options_; }
  // The result code, extended. Several statements, no rows.
  int try_exec(const std::string& sql);
  void exec(const std::string& sql);  // throws BrokenError or, when locked, says by whom
  // All rows as text; NULL is empty. Throws like exec.
  std::vector<std::vector<std::string>> query(const std::string& sql);
  std::string pragma(const std::string& name);  // the first value of the answer
  // Throws the error that stands on the handle. `doing` reads after "cannot".
  [[noreturn]] void raise(const std::string& doing);

 private:
  static int wait_for_lock(void* self, int times_called);
  void check_usable();

  sqlite3* db_ = nullptr;
  SqliteOptions options_;
  std::int64_t lock_wait_start_ns_ = 0;
  std::uint64_t jitter_;
};

// WAL, synchronous, cache and the rest of the options, as every session of a run has them.
void configure_for_run(SqliteConnection& connection, const SqliteOptions& options);

}  // namespace plimsoll
