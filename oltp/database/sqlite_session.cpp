#include "oltp/database/sqlite_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cassert>
#include <cstring>

#include "results/base/error.h"

namespace plimsoll {
namespace {

struct Binder {
  sqlite3_stmt* statement;
  int index;
  int operator()(std::monostate) const { return sqlite3_bind_null(statement, index); }
  int operator()(std::int64_t value) const { return sqlite3_bind_int64(statement, index, value); }
  int operator()(double value) const { return sqlite3_bind_double(statement, index, value); }
  // Static: the text outlives the execute, and every execute binds all parameters anew.
  int operator()(std::string_view text) const {
    return sqlite3_bind_text64(statement, index, text.data() == nullptr ? "" : text.data(),
                               text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
};

void flush_to_drive(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool flushed = fd >= 0 && fsync(fd) == 0;
  const int code = errno;
  if (fd >= 0) close(fd);
  if (!flushed) {
    throw BrokenError(
        fmt::format("{} can't be flushed to its drive: {}; the drive is not fit for "
                    "a database",
                    path.string(), std::strerror(code)));
  }
}

}  // namespace

DbView SqliteSession::Rows::at(std::size_t row, std::size_t column) const {
  assert(column < columns_ && row < rows());
  const Cell& cell = cells_[row * columns_ + column];
  switch (cell.type) {
    case SQLITE_NULL:
      return std::monostate{};
    case SQLITE_INTEGER:
      return cell.integer;
    case SQLITE_FLOAT:
      return cell.real;
    default:
      return std::string_view(text_).substr(static_cast<std::size_t>(cell.integer), cell.length);
  }
}

void SqliteSession::Rows::start(std::size_t columns) {
  columns_ = columns;
  affected_ = 0;
  cells_.clear();
  text_.clear();
}

void SqliteSession::Rows::add(sqlite3_stmt* statement) {
  for (int i = 0; i < static_cast<int>(columns_); ++i) {
    Cell cell{sqlite3_column_type(statement, i), 0, 0, 0};
    if (cell.type == SQLITE_INTEGER) {
      cell.integer = sqlite3_column_int64(statement, i);
    } else if (cell.type == SQLITE_FLOAT) {
      cell.real = sqlite3_column_double(statement, i);
    } else if (cell.type != SQLITE_NULL) {
      const void* data = sqlite3_column_blob(statement, i);
      cell.integer = static_cast<std::int64_t>(text_.size());
      cell.length = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
      if (cell.length > 0) text_.append(static_cast<const char*>(data), cell.length);
    }
    cells_.push_back(cell);
  }
}

SqliteSession::SqliteSession(std::unique_ptr<SqliteConnection> connection,
                             std::shared_ptr<WriterQueue> writers)
    : connection_(std::move(connection)),
      writers_(std::move(writers)),
      begin_read_only_(prepare("BEGIN DEFERRED")),
      begin_read_write_(prepare("BEGIN IMMEDIATE")),
      commit_(prepare("COMMIT")),
      rollback_(prepare("ROLLBACK")) {}

SqliteSession::~SqliteSession() {
  if (may_write_) rollback();
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
}

StatementId SqliteSession::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int result =
      sqlite3_prepare_v3(connection_->handle(), sql.c_str(), static_cast<int>(sql.size()) + 1,
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) connection_->raise(fmt::format("prepare `{}`", sql));
  statements_.push_back(statement);
  return static_cast<StatementId>(statements_.size() - 1);
}

Outcome SqliteSession::begin(Access access) {
  return execute(access == Access::kReadOnly ? begin_read_only_ : begin_read_write_, {});
}

Outcome SqliteSession::commit() {
  return execute(commit_, {});
}

Outcome SqliteSession::rollback() {
  if (sqlite3_get_autocommit(connection_->handle()) != 0) return Outcome::kOk;
  return execute(rollback_, {});
}

Outcome SqliteSession::execute(StatementId statement, std::span<const DbView> parameters) {
  sqlite3_stmt* prepared = statements_[statement];
  assert(static_cast<int>(parameters.size()) == sqlite3_bind_parameter_count(prepared));
  if (!queue_to_write(prepared)) return error_.outcome;
  const Outcome outcome = bind_and_step(prepared, parameters);
  leave_queue();
  return outcome;
}

// BEGIN IMMEDIATE and statements that commit by themselves take the write lock; those inside a
// transaction have it. False after too long a wait.
bool SqliteSession::queue_to_write(sqlite3_stmt* statement) {
  const bool starts = sqlite3_get_autocommit(connection_->handle()) != 0;
  if (!writers_ || !starts || sqlite3_stmt_readonly(statement) != 0) return true;
  may_write_ = writers_->acquire(connection_->options().busy_ns);
  if (!may_write_) {
    error_ = map_sqlite_error(SQLITE_BUSY, "other sessions of this run wrote all the time");
  }
  return may_write_;
}

void SqliteSession::leave_queue() {
  if (!may_write_ || sqlite3_get_autocommit(connection_->handle()) == 0) return;
  may_write_ = false;
  writers_->release();
}

Outcome SqliteSession::bind_and_step(sqlite3_stmt* statement, std::span<const DbView> parameters) {
  int index = 0;
  for (const DbView& parameter : parameters) {
    const int bound = std::visit(Binder{statement, ++index}, parameter);
    if (bound != SQLITE_OK) return fail(bound);
  }
  return step_all(statement);
}

Outcome SqliteSession::step_all(sqlite3_stmt* statement) {
  rows_.start(static_cast<std::size_t>(sqlite3_column_count(statement)));
  int result = sqlite3_step(statement);
  while (result == SQLITE_ROW) {
    rows_.add(statement);
    result = sqlite3_step(statement);
  }
  // An autocommitted statement that reads commits here; its error, if any, is the step's again.
  sqlite3_reset(statement);
  if (result != SQLITE_DONE) return fail(result);
  if (sqlite3_stmt_readonly(statement) == 0) {
    rows_.set_affected(sqlite3_changes64(connection_->handle()));
  }
  return Outcome::kOk;
}

Outcome SqliteSession::fail(int code) {
  error_ = map_sqlite_error(code, sqlite3_errmsg(connection_->handle()));
  if (sqlite3_get_autocommit(connection_->handle()) == 0) connection_->try_exec("ROLLBACK");
  return error_.outcome;
}

SqliteBulkLoad::SqliteBulkLoad(const SqliteOptions& options) : options_(options) {
  auto connection = std::make_unique<SqliteConnection>(options, SqliteConnection::Open::kCreate);
  connection->exec(fmt::format("PRAGMA page_size={}", options.page_bytes));
  connection->exec("PRAGMA locking_mode=EXCLUSIVE");
  connection->exec("PRAGMA synchronous=OFF");
  // Zeroing what a drop frees would need the space of all of it again in the journal.
  connection->exec("PRAGMA secure_delete=OFF");
  connection->exec("PRAGMA cache_size=-65536");
  // Fails when any other connection is open, which is what keeps two loads apart.
  if (connection->pragma("journal_mode=TRUNCATE") != "truncate") {
    connection->raise("take the database for the load alone");
  }
  session_ = std::make_unique<SqliteSession>(std::move(connection));
}

SqliteBulkLoad::~SqliteBulkLoad() {
  if (session_ == nullptr) return;
  session_->rollback();
  session_->connection().try_exec("PRAGMA synchronous=FULL");
  session_->connection().try_exec("PRAGMA locking_mode=NORMAL");
  session_->connection().try_exec("PRAGMA journal_mode=WAL");
}

void SqliteBulkLoad::start_rows(const std::string& table, const std::vector<std::string>& columns) {
  std::vector<std::string> marks(columns.size(), "?");
  std::string sql = fmt::format("INSERT INTO {} ({}) VALUES ({})", table, fmt::join(columns, ", "),
                                fmt::join(marks, ", "));
  if (sql == insert_sql_) return;
  insert_ = session_->prepare(sql);
  insert_sql_ = std::move(sql);
}

Outcome SqliteBulkLoad::add_row(std::span<const DbView> values) {
  return session_->execute(insert_, values);
}

void SqliteBulkLoad::finish() {
  SqliteConnection& connection = session_->connection();
  session_->rollback();
  connection.exec("PRAGMA synchronous=FULL");
  connection.exec("PRAGMA locking_mode=NORMAL");
  const std::string mode = connection.pragma("journal_mode=WAL");
  session_.reset();
  flush_to_drive(options_.path);
  flush_to_drive(std::filesystem::absolute(options_.path).parent_path());
  if (mode != "wal") {
    throw BrokenError(
        fmt::format("{} stays in journal mode '{}' after the load instead of WAL: place it on a "
                    "local drive",
                    options_.path.string(), mode));
  }
}

}  // namespace plimsoll
