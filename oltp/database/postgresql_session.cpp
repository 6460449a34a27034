#include "oltp/database/postgresql_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "oltp/database/sql_text.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr std::size_t kCopyBytes = 256 << 10;

bool succeeded(const PGresult* result) {
  const auto status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN ||
         status == PGRES_EMPTY_QUERY;
}

}  // namespace

StatementId PostgresqlSession::prepare(const std::string& sql) {
  Statement statement;
  statement.name = fmt::format("p{}", statements_.size());
  statement.sql = numbered_parameters(sql);
  statement.only_reads = only_reads(sql);
  if (const auto words = prepare_on_server(statement); !words.empty())
    throw BrokenError(fmt::format("PostgreSQL can't prepare `{}`: {}", sql, words));
  statements_.push_back(std::move(statement));
  return static_cast<StatementId>(statements_.size() - 1);
}

std::string PostgresqlSession::prepare_on_server(Statement& statement) {
  PGconn* const connection = connection_.get();
  const char* const name = statement.name.c_str();
  const PgResult prepared(PQprepare(connection, name, statement.sql.c_str(), 0, nullptr));
  if (!succeeded(prepared.get())) return fail(prepared.get(), PgPhase::kStatement), error_.message;
  const PgResult described(PQdescribePrepared(connection, name));
  if (!succeeded(described.get()))
    return fail(described.get(), PgPhase::kStatement), error_.message;
  statement.parameters.clear();
  for (int i = 0; i < PQnparams(described.get()); ++i)
    statement.parameters.push_back(PQparamtype(described.get(), i));
  std::vector<Oid> columns;
  for (int i = 0; i < PQnfields(described.get()); ++i)
    columns.push_back(PQftype(described.get(), i));
  statement.binary_result = binary_columns(columns);
  return {};
}

Outcome PostgresqlSession::begin(Access) {
  if (!batching_) return simple("BEGIN", PgPhase::kStatement);
  parameters_.set({}, {});
  return queue(statements_[*begin_]);
}

Outcome PostgresqlSession::execute(StatementId id, std::span<const DbView> parameters) {
  const Statement& statement = statements_[id];
  const bool alone = !in_transaction();
  parameters_.set(parameters, statement.parameters);
  if (batching_) return queue(statement);
  rows_.set(PQexecPrepared(connection_.get(), statement.name.c_str(), parameters_.size(),
                           parameters_.values(), parameters_.lengths(), parameters_.formats(),
                           statement.binary_result ? 1 : 0));
  if (succeeded(rows_.result())) return Outcome::kOk;
  return fail(rows_.result(),
              alone && !statement.only_reads ? PgPhase::kAutocommitWrite : PgPhase::kStatement);
}

Outcome PostgresqlSession::commit() {
  if (batching_) {
    queued_commit_ = true;
    parameters_.set({}, {});
    return queue(statements_[*commit_]);
  }
  const Outcome outcome = simple("COMMIT", PgPhase::kCommit);
  // The server answers a COMMIT of an aborted transaction with success, and rolls back.
  if (outcome != Outcome::kOk ||
      std::string_view(PQcmdStatus(const_cast<PGresult*>(rows_.result()))) != "ROLLBACK")
    return outcome;
  error_ = {Outcome::kFailed, "25P02", "the transaction had been aborted: it was rolled back"};
  return error_.outcome;
}

Outcome PostgresqlSession::rollback() {
  if (!in_transaction()) return Outcome::kOk;
  return simple("ROLLBACK", PgPhase::kStatement);
}

void PostgresqlSession::start_batch() {
  if (!begin_) {
    begin_ = prepare("BEGIN");
    commit_ = prepare("COMMIT");
  }
  batching_ = PQenterPipelineMode(connection_.get()) == 1;
  queued_ = 0;
  queued_commit_ = false;
}

Outcome PostgresqlSession::queue(const Statement& statement) {
  ++queued_;
  // A connection that is gone is found out by end_batch.
  PQsendQueryPrepared(connection_.get(), statement.name.c_str(), parameters_.size(),
                      parameters_.values(), parameters_.lengths(), parameters_.formats(),
                      statement.binary_result ? 1 : 0);
  return Outcome::kOk;
}

Outcome PostgresqlSession::end_batch() {
  if (!batching_) return Outcome::kOk;
  batching_ = false;
  PQpipelineSync(connection_.get());
  const Outcome outcome = collect();
  PQexitPipelineMode(connection_.get());
  if (outcome == Outcome::kOk || PQstatus(connection_.get()) != CONNECTION_OK) return outcome;
  if (in_transaction()) PQclear(PQexec(connection_.get(), "ROLLBACK"));
  return outcome;
}

// Of each statement its result and a null; after the first error the rest comes as aborted.
Outcome PostgresqlSession::collect() {
  PGconn* const connection = connection_.get();
  Outcome outcome = Outcome::kOk;
  for (int i = 0; i < queued_; ++i) {
    PGresult* const result = PQgetResult(connection);
    if (outcome == Outcome::kOk && !succeeded(result)) {
      error_ = map_postgresql_error(connection, result,
                                    queued_commit_ ? PgPhase::kCommit : PgPhase::kStatement);
      outcome = error_.outcome;
    }
    rows_.set(result);
    if (result != nullptr) PQclear(PQgetResult(connection));
  }
  PQclear(PQgetResult(connection));  // the answer to the sync
  return outcome;
}

Outcome PostgresqlSession::reconnect() {
  batching_ = false;
  std::string words = reconnect_postgresql(connection_.get());
  for (auto& statement : statements_) {
    if (words.empty()) words = prepare_on_server(statement);
  }
  if (words.empty()) return Outcome::kOk;
  error_ = {Outcome::kLost, "08001", std::move(words)};
  return error_.outcome;
}

Outcome PostgresqlSession::simple(const char* sql, PgPhase phase) {
  rows_.set(PQexec(connection_.get(), sql));
  return succeeded(rows_.result()) ? Outcome::kOk : fail(rows_.result(), phase);
}

Outcome PostgresqlSession::fail(const PGresult* result, PgPhase phase) {
  error_ = map_postgresql_error(connection_.get(), result, phase);
  if (PQstatus(connection_.get()) == CONNECTION_OK && in_transaction())
    PQclear(PQexec(connection_.get(), "ROLLBACK"));
  return error_.outcome;
}

PostgresqlBulkLoad::PostgresqlBulkLoad(const std::string& url) : session_(url) {
  query_postgresql(session_.connection(), "SET synchronous_commit = off");
}

void PostgresqlBulkLoad::start_rows(const std::string& table,
                                    const std::vector<std::string>& columns) {
  tables_.insert(table);
  copy_sql_ = fmt::format("COPY {} ({}) FROM STDIN", table, fmt::join(columns, ", "));
  copying_ = false;
  buffer_.clear();
}

Outcome PostgresqlBulkLoad::add_row(std::span<const DbView> values) {
  append_delimited_row(buffer_, values);
  return buffer_.size() < kCopyBytes ? Outcome::kOk : send();
}

Outcome PostgresqlBulkLoad::send() {
  if (!copying_) {
    const Outcome outcome = session_.simple(copy_sql_.c_str(), PgPhase::kStatement);
    if (outcome != Outcome::kOk) return outcome;
    copying_ = true;
  }
  const int sent =
      PQputCopyData(session_.connection(), buffer_.data(), static_cast<int>(buffer_.size()));
  buffer_.clear();
  return sent == 1 ? Outcome::kOk : end_rows();
}

Outcome PostgresqlBulkLoad::end_rows() {
  if (!buffer_.empty()) {
    if (const Outcome outcome = send(); outcome != Outcome::kOk) return outcome;
  }
  if (!copying_) return Outcome::kOk;
  copying_ = false;
  PQputCopyEnd(session_.connection(), nullptr);
  const PgResult result(PQgetResult(session_.connection()));
  while (PGresult* rest = PQgetResult(session_.connection())) PQclear(rest);
  return succeeded(result.get()) ? Outcome::kOk : session_.fail(result.get(), PgPhase::kStatement);
}

void PostgresqlBulkLoad::finish() {
  PGconn* const connection = session_.connection();
  require_ok(session_.rollback(), session_, "end the load");
  query_postgresql(connection, "SET synchronous_commit = on");
  for (const auto& table : tables_) {
    // Dropped since, perhaps; and hint bits written now are no writes of the run.
    if (query_postgresql(connection, fmt::format("SELECT to_regclass('{}')", table))[0][0].empty())
      continue;
    query_postgresql(connection, "VACUUM ANALYZE " + table);
  }
  // A commit that waits flushes the log up to itself, and so all commits before it.
  query_postgresql(connection, "BEGIN");
  query_postgresql(connection, "SELECT txid_current()");
  query_postgresql(connection, "COMMIT");
  // Only some roles may; without it, the load's pages are written during the run.
  PQclear(PQexec(connection, "CHECKPOINT"));
}

}  // namespace plimsoll
