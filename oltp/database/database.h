// What a transaction needs of a database, and no more. One file an engine; errors are mapped once,
// there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "results/base/error.h"
#include "results/record/warning.h"

namespace plimsoll {

// What became of a statement or a commit.
enum class Outcome {
  kOk,
  kUserRollback,  // the transaction itself asked for it (TPC-C's 1 %)
  kRetryable,     // deadlock, serialization, busy: rolled back, the same input may run again
  kInDoubt,       // the connection was lost in commit: may or may not have happened; never retried
  kFailed,        // this transaction can't be done (a constraint, a type); the session goes on
  kFatal,         // the session or the database is of no more use: disk full, I/O error, corruption
  kLost           // the connection was lost, not in a commit: after reconnect() the same input may
                  // run again
};
// "ok", "user rollback", "retryable", "in doubt", "failed", "fatal", "lost".
std::string_view outcome_name(Outcome outcome);

struct DbError {
  Outcome outcome = Outcome::kOk;
  std::string code;     // SQLSTATE or the engine's own name, e.g. "SQLITE_BUSY"
  std::string message;  // the database's own words
  bool no_space = false;
  bool duplicate_key = false;
};

using DbValue = std::variant<std::monostate, std::int64_t, double, std::string>;
// A parameter or column; strings are borrowed until the next call on the session.
using DbView = std::variant<std::monostate, std::int64_t, double, std::string_view>;

// Statements are registered once a session, prepared, and executed by their index.
using StatementId = std::uint32_t;

// What a transaction is going to do. An engine that has to choose its locks at the begin (SQLite)
// goes by it; the others begin both alike.
enum class Access { kReadOnly, kReadWrite };

// Rows of the last execute; valid until the next call on the session.
class DbRows {
 public:
  virtual ~DbRows() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t columns() const = 0;
  virtual DbView at(std::size_t row, std::size_t column) const = 0;
  virtual std::int64_t affected() const = 0;  // rows that an insert, update or delete touched
};

// One connection; used by one thread at a time. Errors inside a run are values: every verb returns
// an Outcome, and error() tells the last one that wasn't kOk. After any outcome but kOk the
// transaction has been rolled back. A statement outside begin and commit is committed by itself.
class Session {
 public:
  virtual ~Session() = default;
  // Parameters are `?`, in order. Throws BrokenError with the SQL and the database's words; an ODBC
  // driver may leave that to the first execute.
  virtual StatementId prepare(const std::string& sql) = 0;
  virtual Outcome begin(Access access) = 0;
  // The number of parameters must be the statement's (asserted).
  virtual Outcome execute(StatementId statement, std::span<const DbView> parameters) = 0;
  virtual Outcome commit() = 0;
  virtual Outcome rollback() = 0;
  // Between these two, statements that don't need each other's results go in one round trip where
  // the engine can: begin, execute and commit then only queue and say kOk, and end_batch gives the
  // first outcome that isn't, after which nothing was done. Elsewhere they change nothing.
  virtual void start_batch() {}
  virtual Outcome end_batch() { return Outcome::kOk; }
  // After the connection was lost: connects once more and prepares all statements again; their ids
  // stay. kLost while the server is still away. What runs inside this process is never lost.
  virtual Outcome reconnect() { return Outcome::kOk; }
  virtual const DbRows& rows() const = 0;
  virtual const DbError& error() const = 0;
};

// Fills tables as fast as the engine can, and so without durability until finish(). A kill of the
// process (not of the machine) leaves a whole database with all that was committed. One thread.
class BulkLoad {
 public:
  virtual ~BulkLoad() =
      default;  // without finish(): the durable settings are restored all the same
  // For begin, commit and everything else; valid as long as this.
  virtual Session& session() = 0;
  // Rows of `columns` into `table` follow, inside the transaction that was begun on session().
  virtual void start_rows(const std::string& table, const std::vector<std::string>& columns) = 0;
  virtual Outcome add_row(std::span<const DbView> values) = 0;
  virtual Outcome end_rows() = 0;
  // Restores the durable settings; all that was committed is on the drive when it returns. Throws
  // BrokenError.
  virtual void finish() = 0;
};

// One of an engine's own figures, by the engine's own name.
struct DbFigure {
  std::string name;
  double value = 0;
  bool total = true;  // counts up since the server's start; else a level
};

// What a database tells of itself during a run, on a connection of its own. One thread.
class DbProbe {
 public:
  virtual ~DbProbe() = default;
  virtual std::vector<DbFigure> figures() = 0;  // throws BrokenError when it can't tell
  // How many sessions that are at work wait for what, now; "CPU" for nothing that it knows of.
  // Throws BrokenError.
  virtual std::map<std::string, int> waits() = 0;
};

// What makes the numbers fiction or doubtful, found before a run. One that refuses does so unless
// its warning's id was accepted by name.
struct PreflightFinding {
  Warning warning;
  bool refuses = false;
};

// Names of tables, each with its columns in order; lower case.
using DbTables = std::map<std::string, std::vector<std::string>>;

// A database by its URL. Thread-safe.
class Database {
 public:
  virtual ~Database() = default;
  virtual std::unique_ptr<Session> connect() = 0;  // throws Error naming the mend
  virtual std::string engine() const = 0;          // "sqlite", "postgresql", …: names its dialect
  // Version, durability settings and whatever else goes into the record, read back from the
  // database. Never a password.
  virtual nlohmann::ordered_json environment() = 0;
  // Of the database itself; what lies beneath it is looked at by who knows drives.
  virtual std::vector<PreflightFinding> preflight() = 0;
  // For set-up only (DDL, pragmas): several statements, no result. Throws BrokenError.
  virtual void run_script(const std::string& sql) = 0;
  // What it and the page cache of its data may fill; empty when on another machine.
  virtual std::optional<std::uint64_t> memory_bytes() { return std::nullopt; }
  // Null where the engine has nothing to tell. Throws Error.
  virtual std::unique_ptr<DbProbe> probe() { return nullptr; }

  // --- loading
  // The database is made where it doesn't exist and the engine can. Throws Error.
  virtual std::unique_ptr<BulkLoad> connect_bulk() = 0;
  virtual DbTables tables() = 0;           // empty where there is no database yet
  virtual std::uint64_t size_bytes() = 0;  // of all its files
  // Free space where its data lies; empty where that can't be known (a server elsewhere).
  virtual std::optional<std::uint64_t> free_bytes() = 0;
  // After a drop of tables: a database that is only a file goes with its last table.
  virtual void reclaim() = 0;
  // Removes a database that is only a file, with all in it, without needing space for that. False
  // where it is not one.
  virtual bool discard() { return false; }
  // Where the data lies, to find the drive beneath; empty when on another machine.
  virtual std::string data_path() const = 0;
};

// For set-up: prepares and runs one statement. Throws BrokenError with the SQL and the words.
void execute_or_throw(Session& session, const std::string& sql,
                      std::span<const DbView> parameters = {});
// Throws BrokenError with the session's error unless `outcome` is kOk. `doing` reads after
// "cannot".
void require_ok(Outcome outcome, const Session& session, const std::string& doing);

// What require_ok throws when the database's drive is full.
class NoSpaceError : public BrokenError {
 public:
  using BrokenError::BrokenError;
};

struct DatabaseKind {
  std::string_view scheme;    // "sqlite"
  std::string_view url_form;  // "sqlite:PATH[?cache=64MiB&…]"
  std::unique_ptr<Database> (*open)(const std::string& url);
};

const std::vector<DatabaseKind>& database_kinds();
// `url` as in `--db`; opens no connection yet. Throws UsageError for an unknown scheme, naming
// those built in.
std::unique_ptr<Database> open_database(const std::string& url);

}  // namespace plimsoll
