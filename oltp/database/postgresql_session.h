// A session and a load on PostgreSQL.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "oltp/database/postgresql_connection.h"
#include "oltp/database/postgresql_values.h"

namespace plimsoll {

class PostgresqlSession final : public Session {
 public:
  explicit PostgresqlSession(const std::string& url) : connection_(connect_postgresql(url)) {}

  StatementId prepare(const std::string& sql) override;
  Outcome begin(Access access) override;
  Outcome execute(StatementId statement, std::span<const DbView> parameters) override;
  Outcome commit() override;
  Outcome rollback() override;
  void start_batch() override;
  Outcome end_batch() override;
  Outcome reconnect() override;
  const DbRows& rows() const override { return rows_; }
  const DbError& error() const override { return error_; }

  // For the load: without a statement of ours.
  PGconn* connection() { return connection_.get(); }
  Outcome simple(const char* sql, PgPhase phase);
  Outcome fail(const PGresult* result, PgPhase phase);

 private:
  struct Statement {
    std::string name;
    std::string sql;  // with $1, $2
    std::vector<Oid> parameters;
    bool binary_result = false;
    bool only_reads = false;
  };
  Outcome queue(const Statement& statement);
  Outcome collect();
  bool in_transaction() const { return PQtransactionStatus(connection_.get()) != PQTRANS_IDLE; }
  // The server's words, empty when it took the statement.
  std::string prepare_on_server(Statement& statement);

  PgConnection connection_;
  std::vector<Statement> statements_;
  PgParameters parameters_;
  PgRows rows_;
  DbError error_;

  // libpq's pipeline: what was queued since start_batch.
  bool batching_ = false;
  bool queued_commit_ = false;
  int queued_ = 0;
  std::optional<StatementId> begin_;  // prepared, as a pipeline takes no simple queries
  std::optional<StatementId> commit_;
};

// COPY in text form; without waiting for the log until finish().
class PostgresqlBulkLoad final : public BulkLoad {
 public:
  explicit PostgresqlBulkLoad(const std::string& url);

  Session& session() override { return session_; }
  void start_rows(const std::string& table, const std::vector<std::string>& columns) override;
  Outcome add_row(std::span<const DbView> values) override;
  Outcome end_rows() override;
  void finish() override;

 private:
  Outcome send();

  PostgresqlSession session_;
  std::set<std::string> tables_;
  std::string copy_sql_;
  bool copying_ = false;
  std::string buffer_;
};

}  // namespace plimsoll
