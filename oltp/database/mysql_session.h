// A session and a load on MySQL or MariaDB.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "oltp/database/mysql_connection.h"
#include "oltp/database/mysql_statement.h"

namespace plimsoll {

class MysqlSession final : public Session {
 public:
  explicit MysqlSession(const ConnectionUrl& url) : url_(url), connection_(connect_mysql(url)) {}

  StatementId prepare(const std::string& sql) override;
  Outcome begin(Access access) override;
  Outcome execute(StatementId statement, std::span<const DbView> parameters) override;
  Outcome commit() override;
  Outcome rollback() override;
  Outcome reconnect() override;
  const DbRows& rows() const override { return *rows_; }
  const DbError& error() const override { return error_; }

  // For the load: without a statement of ours.
  MYSQL* connection() { return connection_.get(); }
  Outcome simple(std::string_view sql, MysqlPhase phase);
  Outcome fail(unsigned code, const std::string& words, MysqlPhase phase);

 private:
  const ConnectionUrl url_;
  MysqlConnection connection_;
  std::deque<MysqlPrepared> statements_;  // after the connection: closed before it
  const MysqlRows none_;
  const DbRows* rows_ = &none_;
  DbError error_;
  bool in_transaction_ = false;
};

// LOAD DATA LOCAL out of memory, or INSERTs of many rows where the server forbids that. Commits are
// as durable as the server's settings: they are global, and not ours to change.
class MysqlBulkLoad final : public BulkLoad {
 public:
  explicit MysqlBulkLoad(const ConnectionUrl& url);

  Session& session() override { return session_; }
  void start_rows(const std::string& table, const std::vector<std::string>& columns) override;
  Outcome add_row(std::span<const DbView> values) override;
  Outcome end_rows() override;
  void finish() override;

 private:
  void append_insert(std::span<const DbView> values);
  Outcome send();
  Outcome check_loaded();

  MysqlSession session_;
  bool local_infile_;
  std::string table_;   // with its columns
  std::string buffer_;  // rows, or an INSERT
  std::uint64_t rows_ = 0;
};

}  // namespace plimsoll
