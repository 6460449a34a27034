#include "oltp/database/mysql_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr unsigned kTooManyPrepared = 1461;
constexpr std::size_t kInfileBytes = 8 << 20;
constexpr std::size_t kInsertBytes = 512 << 10;  // below the smallest usual max_allowed_packet

struct Source {
  const std::string* text;
  std::size_t read;
};

// What the library calls for a LOAD DATA LOCAL: the "file" is memory of ours.
int source_init(void** state, const char*, void* source) {
  *state = source;
  return 0;
}
int source_read(void* state, char* to, unsigned length) {
  auto* source = static_cast<Source*>(state);
  const auto count = std::min<std::size_t>(length, source->text->size() - source->read);
  std::memcpy(to, source->text->data() + source->read, count);
  source->read += count;
  return static_cast<int>(count);
}
void source_end(void*) {}
int source_error(void*, char* text, unsigned length) {
  if (length > 0) text[0] = '\0';
  return 0;
}

}  // namespace

StatementId MysqlSession::prepare(const std::string& sql) {
  MysqlPrepared& statement = statements_.emplace_back(sql);
  if (const unsigned code = statement.prepare(connection_.get()); code != 0) {
    std::string words = statement.words();
    if (code == kTooManyPrepared) words += fmt::format("; {}", mysql_mend(code));
    statements_.pop_back();
    throw BrokenError(fmt::format("the server can't prepare `{}`: {}", sql, words));
  }
  return static_cast<StatementId>(statements_.size() - 1);
}

Outcome MysqlSession::begin(Access) {
  const Outcome outcome = simple("BEGIN", MysqlPhase::kStatement);
  in_transaction_ = outcome == Outcome::kOk;
  return outcome;
}

Outcome MysqlSession::execute(StatementId id, std::span<const DbView> parameters) {
  MysqlPrepared& statement = statements_[id];
  rows_ = &statement.rows();
  const unsigned code = statement.execute(parameters);
  if (code == 0) return Outcome::kOk;
  const bool in_doubt = !in_transaction_ && !statement.only_reads();
  return fail(code, statement.words(),
              in_doubt ? MysqlPhase::kAutocommitWrite : MysqlPhase::kStatement);
}

Outcome MysqlSession::commit() {
  const Outcome outcome = simple("COMMIT", MysqlPhase::kCommit);
  in_transaction_ = false;
  return outcome;
}

Outcome MysqlSession::rollback() {
  if (!in_transaction_) return Outcome::kOk;
  const Outcome outcome = simple("ROLLBACK", MysqlPhase::kStatement);
  in_transaction_ = false;
  return outcome;
}

Outcome MysqlSession::reconnect() {
  rows_ = &none_;
  in_transaction_ = false;
  for (auto& statement : statements_) statement.abandon();
  auto connection = try_connect_mysql(url_, error_);
  if (!connection) return error_.outcome = Outcome::kLost;
  connection_ = std::move(connection);
  for (auto& statement : statements_) {
    if (const unsigned code = statement.prepare(connection_.get()); code != 0)
      return fail(code, statement.words(), MysqlPhase::kStatement);
  }
  return Outcome::kOk;
}

Outcome MysqlSession::simple(std::string_view sql, MysqlPhase phase) {
  rows_ = &none_;
  if (mysql_real_query(connection_.get(), sql.data(), sql.size()) == 0) return Outcome::kOk;
  return fail(mysql_errno(connection_.get()), mysql_error(connection_.get()), phase);
}

// InnoDB rolls back the whole transaction after a deadlock, but only the statement after a lock
// wait time-out or a duplicate key.
Outcome MysqlSession::fail(unsigned code, const std::string& words, MysqlPhase phase) {
  error_ = map_mysql_error(code, words, phase);
  const bool there = error_.outcome != Outcome::kLost && error_.outcome != Outcome::kInDoubt;
  if (in_transaction_ && there) mysql_real_query(connection_.get(), "ROLLBACK", 8);
  in_transaction_ = false;
  return error_.outcome;
}

MysqlBulkLoad::MysqlBulkLoad(const ConnectionUrl& url) : session_(url) {
  MYSQL* const connection = session_.connection();
  local_infile_ = query_mysql(connection, "SELECT @@local_infile")[0][0] == "1";
  const unsigned on = local_infile_ ? 1 : 0;
  mysql_optionsv(connection, MYSQL_OPT_LOCAL_INFILE, &on);
  query_mysql(connection, "SET unique_checks = 0, foreign_key_checks = 0");
}

void MysqlBulkLoad::start_rows(const std::string& table, const std::vector<std::string>& columns) {
  table_ = fmt::format("{} ({})", table, fmt::join(columns, ", "));
  buffer_.clear();
  rows_ = 0;
}

Outcome MysqlBulkLoad::add_row(std::span<const DbView> values) {
  if (local_infile_) {
    append_delimited_row(buffer_, values);
  } else {
    append_insert(values);
  }
  ++rows_;
  return buffer_.size() < (local_infile_ ? kInfileBytes : kInsertBytes) ? Outcome::kOk : send();
}

void MysqlBulkLoad::append_insert(std::span<const DbView> values) {
  buffer_ += buffer_.empty() ? fmt::format("INSERT INTO {} VALUES (", table_) : ",(";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) buffer_ += ',';
    if (const auto* text = std::get_if<std::string_view>(&values[i])) {
      const auto start = buffer_.size() + 1;
      buffer_.resize(start + 2 * text->size() + 1, '\'');
      const auto length = mysql_real_escape_string(session_.connection(), buffer_.data() + start,
                                                   text->data(), text->size());
      buffer_.resize(start + length);
      buffer_ += '\'';
    } else if (const auto* integer = std::get_if<std::int64_t>(&values[i])) {
      buffer_ += fmt::format("{}", *integer);
    } else if (const auto* real = std::get_if<double>(&values[i])) {
      buffer_ += fmt::format("{}", *real);
    } else {
      buffer_ += "NULL";
    }
  }
  buffer_ += ')';
}

Outcome MysqlBulkLoad::send() {
  Outcome outcome;
  if (local_infile_) {
    Source source{&buffer_, 0};
    mysql_set_local_infile_handler(session_.connection(), source_init, source_read, source_end,
                                   source_error, &source);
    outcome = session_.simple(
        fmt::format("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET utf8mb4 FIELDS "
                    "TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' {}",
                    table_.substr(0, table_.find(' ')), table_.substr(table_.find(' '))),
        MysqlPhase::kStatement);
  } else {
    outcome = session_.simple(buffer_, MysqlPhase::kStatement);
  }
  if (outcome == Outcome::kOk) outcome = check_loaded();
  buffer_.clear();
  rows_ = 0;
  return outcome;
}

// LOCAL turns errors into warnings and leaves rows out.
Outcome MysqlBulkLoad::check_loaded() {
  MYSQL* const connection = session_.connection();
  if (mysql_affected_rows(connection) == rows_ && mysql_warning_count(connection) == 0)
    return Outcome::kOk;
  const auto warnings = query_mysql(connection, "SHOW WARNINGS LIMIT 1");
  const std::string words = warnings.empty() ? "rows were left out" : warnings[0][2];
  const unsigned code = warnings.empty() ? 0 : static_cast<unsigned>(std::stoul(warnings[0][1]));
  return session_.fail(code, words, MysqlPhase::kStatement);
}

Outcome MysqlBulkLoad::end_rows() {
  return buffer_.empty() ? Outcome::kOk : send();
}

void MysqlBulkLoad::finish() {
  require_ok(session_.rollback(), session_, "end the load");
  query_mysql(session_.connection(), "SET unique_checks = 1, foreign_key_checks = 1");
}

}  // namespace plimsoll
