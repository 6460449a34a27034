// Session and bulk load on SQLite.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oltp/database/sqlite_connection.h"
#include "oltp/database/writer_queue.h"

namespace plimsoll {

// A read-write transaction takes the write lock at its begin (BEGIN IMMEDIATE): one that began with
// a read would fail with SQLITE_BUSY_SNAPSHOT at its first write whenever another had written
// since, and its reads would be repeated for nothing. A read-only one never takes it.
class SqliteSession final : public Session {
 public:
  // `writers`, where given, is shared by the sessions that write to the same file.
  explicit SqliteSession(std::unique_ptr<SqliteConnection> connection,
                         std::shared_ptr<WriterQueue> writers = nullptr);
  ~SqliteSession() override;

  StatementId prepare(const std::string& sql) override;
  Outcome begin(Access access) override;
  Outcome execute(StatementId statement, std::span<const DbView> parameters) override;
  Outcome commit() override;
  Outcome rollback() override;
  const DbRows& rows() const override { return rows_; }
  const DbError& error() const override { return error_; }
  SqliteConnection& connection() { return *connection_; }

 private:
  // Copied out while stepping, because SQLite's own values live only until the next step.
  class Rows final : public DbRows {
   public:
    std::size_t rows() const override { return columns_ == 0 ? 0 : cells_.size() / columns_; }
    std::size_t columns() const override { return columns_; }
    DbView at(std::size_t row, std::size_t column) const override;
    std::int64_t affected() const override { return affected_; }
    void start(std::size_t columns);
    void add(sqlite3_stmt* statement);
    void set_affected(std::int64_t affected) { affected_ = affected; }

   private:
    struct Cell {
      int type;
      std::int64_t integer;  // of text: where it starts in text_
      double real;
      std::size_t length;
    };
    std::size_t columns_ = 0;
    std::int64_t affected_ = 0;
    std::vector<Cell> cells_;
    std::string text_;
  };

  bool queue_to_write(sqlite3_stmt* statement);
  void leave_queue();
  Outcome bind_and_step(sqlite3_stmt* statement, std::span<const DbView> parameters);
  Outcome step_all(sqlite3_stmt* statement);
  Outcome fail(int code);

  std::unique_ptr<SqliteConnection> connection_;
  std::shared_ptr<WriterQueue> writers_;
  bool may_write_ = false;  // holds writers_
  std::vector<sqlite3_stmt*> statements_;
  StatementId begin_read_only_, begin_read_write_, commit_, rollback_;
  Rows rows_;
  DbError error_;
};

// Prepared inserts, with a rollback journal and synchronous=OFF while it lasts: new pages are then
// written once, to their place, and a killed load is rolled back to its last commit by whoever
// opens the file next. Holds the file for itself alone.
class SqliteBulkLoad final : public BulkLoad {
 public:
  explicit SqliteBulkLoad(const SqliteOptions& options);
  ~SqliteBulkLoad() override;

  Session& session() override { return *session_; }
  void start_rows(const std::string& table, const std::vector<std::string>& columns) override;
  Outcome add_row(std::span<const DbView> values) override;
  Outcome end_rows() override { return Outcome::kOk; }
  void finish() override;

 private:
  SqliteOptions options_;
  std::unique_ptr<SqliteSession> session_;
  std::string insert_sql_;
  StatementId insert_ = 0;
};

}  // namespace plimsoll
