// A session and a load by ODBC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oltp/database/odbc_connection.h"
#include "oltp/database/odbc_statement.h"

namespace plimsoll {

// Transactions are ODBC's own: with the driver's autocommit off, the first statement begins one, so
// that begin() costs no round trip once it is off.
class OdbcSession final : public Session {
 public:
  explicit OdbcSession(const std::string& text);

  StatementId prepare(const std::string& sql) override;
  Outcome begin(Access access) override;
  Outcome execute(StatementId statement, std::span<const DbView> parameters) override;
  Outcome commit() override;
  Outcome rollback() override;
  Outcome reconnect() override;
  const DbRows& rows() const override { return *rows_; }
  const DbError& error() const override { return error_; }

 private:
  struct Prepared {
    std::string sql;
    std::unique_ptr<OdbcStatement> statement;
    bool only_reads;
  };
  Outcome set_autocommit(bool on);
  Outcome fail(const OdbcWords& words, bool in_doubt_when_lost);

  OdbcConnection connection_;
  std::vector<Prepared> statements_;  // after the connection: freed before it
  const OdbcRows none_;
  const DbRows* rows_ = &none_;
  DbError error_;
  bool autocommit_ = true;
  bool in_transaction_ = false;
};

// INSERTs of as many rows as SQL Server takes parameters for.
class OdbcBulkLoad final : public BulkLoad {
 public:
  explicit OdbcBulkLoad(const std::string& text) : session_(text) {}

  Session& session() override { return session_; }
  void start_rows(const std::string& table, const std::vector<std::string>& columns) override;
  Outcome add_row(std::span<const DbView> values) override;
  Outcome end_rows() override;
  void finish() override;

 private:
  OdbcSession session_;
  std::string one_row_sql_;
  StatementId one_row_ = 0;
  StatementId many_rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t many_ = 0;
  std::vector<DbValue> values_;
};

}  // namespace plimsoll
