// What a transaction needs of a database, and no more. One file an engine; errors are mapped once,
// there.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace plimsoll {

// What became of a statement or a commit.
enum class Outcome {
  kOk,
  kUserRollback,  // the transaction itself asked for it (TPC-C's 1 %)
  kRetryable,     // deadlock, serialization, busy: rolled back, the same input may run again
  kInDoubt,       // the connection was lost in commit: may or may not have happened; never retried
  kFatal          // anything else
};

struct DbError {
  Outcome outcome = Outcome::kOk;
  std::string code;     // SQLSTATE or the engine's own name, e.g. "SQLITE_BUSY"
  std::string message;  // the database's own words
};

using DbValue = std::variant<std::monostate, std::int64_t, double, std::string>;
// A parameter or column; strings are borrowed until the next call on the session.
using DbView = std::variant<std::monostate, std::int64_t, double, std::string_view>;

// Statements are registered once a session, prepared, and executed by their index.
using StatementId = std::uint32_t;

// Rows of the last execute; valid until the next call on the session.
class DbRows {
 public:
  virtual ~DbRows() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t columns() const = 0;
  virtual DbView at(std::size_t row, std::size_t column) const = 0;
  virtual std::int64_t affected() const = 0;
};

// One connection; used by one thread at a time. Errors inside a run are values: every verb returns
// an Outcome, and error() tells the last one that wasn't kOk. After kRetryable or kFatal the
// transaction has been rolled back.
class Session {
 public:
  virtual ~Session() = default;
  virtual StatementId prepare(const std::string& sql) = 0;  // throws BrokenError with the SQL
  virtual Outcome begin() = 0;
  virtual Outcome execute(StatementId statement, std::span<const DbView> parameters) = 0;
  virtual Outcome commit() = 0;
  virtual Outcome rollback() = 0;
  virtual const DbRows& rows() const = 0;
  virtual const DbError& error() const = 0;
};

// A database by its URL. Thread-safe.
class Database {
 public:
  virtual ~Database() = default;
  virtual std::unique_ptr<Session> connect() = 0;  // throws BrokenError naming the mend
  virtual std::string engine() const = 0;          // "sqlite", "postgresql", …: names its dialect
  // Version, durability settings and whatever else goes into the record. Never a password.
  virtual nlohmann::ordered_json environment() = 0;
  // For set-up only (DDL, pragmas): several statements, no result. Throws BrokenError.
  virtual void run_script(const std::string& sql) = 0;
};

struct DatabaseKind {
  std::string_view scheme;  // "sqlite"
  std::string_view description;
  std::unique_ptr<Database> (*open)(const std::string& url);
};

const std::vector<DatabaseKind>& database_kinds();
// `url` as in `--db`. Throws UsageError for an unknown scheme, naming those built in.
std::unique_ptr<Database> open_database(const std::string& url);

}  // namespace plimsoll
