#include "oltp/database/odbc_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "oltp/database/sql_text.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr std::size_t kParameters = 2000;  // SQL Server takes 2,100
constexpr std::size_t kRows = 1000;        // and no more rows in one VALUES

std::string insert_sql(const std::string& table, const std::vector<std::string>& columns,
                       std::size_t rows) {
  const std::string marks =
      fmt::format("({})", fmt::join(std::vector<std::string>(columns.size(), "?"), ", "));
  return fmt::format("INSERT INTO {} ({}) VALUES {}", table, fmt::join(columns, ", "),
                     fmt::join(std::vector<std::string>(rows, marks), ", "));
}

DbView view_of(const DbValue& value) {
  return std::visit([](const auto& held) { return DbView(held); }, value);
}

}  // namespace

OdbcSession::OdbcSession(const std::string& text) : connection_(text) {
  connection_.connect();
}

StatementId OdbcSession::prepare(const std::string& sql) {
  auto statement = std::make_unique<OdbcStatement>(connection_.handle());
  if (!statement->prepare(sql)) {
    throw BrokenError(
        fmt::format("the database can't prepare `{}`: {}", sql, statement->words().text));
  }
  statements_.push_back({sql, std::move(statement), only_reads(sql)});
  return static_cast<StatementId>(statements_.size() - 1);
}

Outcome OdbcSession::begin(Access) {
  const Outcome outcome = set_autocommit(false);
  in_transaction_ = outcome == Outcome::kOk;
  return outcome;
}

Outcome OdbcSession::execute(StatementId id, std::span<const DbView> parameters) {
  Prepared& prepared = statements_[id];
  if (!in_transaction_) {
    if (const Outcome outcome = set_autocommit(true); outcome != Outcome::kOk) return outcome;
  }
  rows_ = &prepared.statement->rows();
  if (prepared.statement->execute(parameters)) return Outcome::kOk;
  return fail(prepared.statement->words(), !in_transaction_ && !prepared.only_reads);
}

Outcome OdbcSession::commit() {
  const bool done = SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, connection_.handle(), SQL_COMMIT));
  const Outcome outcome = done ? Outcome::kOk : fail(connection_.words(), true);
  in_transaction_ = false;
  return outcome;
}

Outcome OdbcSession::rollback() {
  if (!in_transaction_) return Outcome::kOk;
  in_transaction_ = false;
  const bool done = SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, connection_.handle(), SQL_ROLLBACK));
  return done ? Outcome::kOk : fail(connection_.words(), false);
}

Outcome OdbcSession::reconnect() {
  rows_ = &none_;
  in_transaction_ = false;
  autocommit_ = true;
  for (auto& prepared : statements_) prepared.statement.reset();
  OdbcWords words = connection_.try_connect();
  for (auto& prepared : statements_) {
    if (!words.state.empty()) break;
    prepared.statement = std::make_unique<OdbcStatement>(connection_.handle());
    if (!prepared.statement->prepare(prepared.sql)) words = prepared.statement->words();
  }
  if (words.state.empty()) return Outcome::kOk;
  error_ = {Outcome::kLost, words.state, words.text};
  return error_.outcome;
}

Outcome OdbcSession::set_autocommit(bool on) {
  if (autocommit_ == on) return Outcome::kOk;
  const auto value = static_cast<std::uintptr_t>(on ? SQL_AUTOCOMMIT_ON : SQL_AUTOCOMMIT_OFF);
  if (!SQL_SUCCEEDED(SQLSetConnectAttr(connection_.handle(), SQL_ATTR_AUTOCOMMIT,
                                       reinterpret_cast<SQLPOINTER>(value), SQL_IS_UINTEGER)))
    return fail(connection_.words(), false);
  autocommit_ = on;
  return Outcome::kOk;
}

Outcome OdbcSession::fail(const OdbcWords& words, bool in_doubt_when_lost) {
  error_ = {};
  error_.code = words.native != 0 ? fmt::format("{}/{}", words.state, words.native) : words.state;
  error_.message = words.text;
  error_.outcome = odbc_outcome(connection_.dialect().engine, words);
  error_.no_space = words.state == "53100" || words.native == 1105 || words.native == 9002 ||
                    words.native == 1114;
  error_.duplicate_key = words.state == "23505" || words.native == 1062 || words.native == 2601 ||
                         words.native == 2627;
  // A driver that knows its link is dead says so, whatever the state it gave.
  SQLUINTEGER dead = SQL_CD_FALSE;
  SQLGetConnectAttr(connection_.handle(), SQL_ATTR_CONNECTION_DEAD, &dead, 0, nullptr);
  if (dead == SQL_CD_TRUE) error_.outcome = Outcome::kLost;
  if (error_.outcome == Outcome::kLost && in_doubt_when_lost) error_.outcome = Outcome::kInDoubt;
  if (in_transaction_ && dead != SQL_CD_TRUE)
    SQLEndTran(SQL_HANDLE_DBC, connection_.handle(), SQL_ROLLBACK);
  in_transaction_ = false;
  return error_.outcome;
}

void OdbcBulkLoad::start_rows(const std::string& table, const std::vector<std::string>& columns) {
  values_.clear();
  const std::string sql = insert_sql(table, columns, 1);
  if (sql == one_row_sql_) return;
  columns_ = columns.size();
  many_ = std::min(kRows, kParameters / columns_);
  one_row_ = session_.prepare(sql);
  many_rows_ = session_.prepare(insert_sql(table, columns, many_));
  one_row_sql_ = sql;
}

Outcome OdbcBulkLoad::add_row(std::span<const DbView> values) {
  for (const DbView& value : values) {
    const auto* text = std::get_if<std::string_view>(&value);
    if (text != nullptr) {
      values_.emplace_back(std::string(*text));
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      values_.emplace_back(*integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      values_.emplace_back(*real);
    } else {
      values_.emplace_back();
    }
  }
  if (values_.size() < many_ * columns_) return Outcome::kOk;
  std::vector<DbView> views;
  for (const DbValue& value : values_) views.push_back(view_of(value));
  const Outcome outcome = session_.execute(many_rows_, views);
  values_.clear();
  return outcome;
}

Outcome OdbcBulkLoad::end_rows() {
  std::vector<DbView> row;
  for (const DbValue& value : values_) {
    row.push_back(view_of(value));
    if (row.size() < columns_) continue;
    if (const Outcome outcome = session_.execute(one_row_, row); outcome != Outcome::kOk)
      return outcome;
    row.clear();
  }
  values_.clear();
  return Outcome::kOk;
}

void OdbcBulkLoad::finish() {
  require_ok(session_.rollback(), session_, "end the load");
}

}  // namespace plimsoll
