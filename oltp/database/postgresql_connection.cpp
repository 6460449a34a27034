#include "oltp/database/postgresql_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "oltp/database/sql_text.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

struct PgMeaning {
  std::string_view prefix;  // of an SQLSTATE; the first row that fits counts
  Outcome outcome;
};

constexpr std::array<PgMeaning, 15> kPgMeanings = {{
    {"40003", Outcome::kInDoubt},    // statement completion unknown
    {"08007", Outcome::kInDoubt},    // transaction resolution unknown
    {"40", Outcome::kRetryable},     // serialization failure, deadlock
    {"55P03", Outcome::kRetryable},  // lock not available (lock_timeout, NOWAIT)
    {"08", Outcome::kLost},
    {"57P", Outcome::kLost},     // administrator, crash, starting up, database dropped
    {"25006", Outcome::kFatal},  // read-only: a standby
    {"28", Outcome::kFatal},     // authorization
    {"3D", Outcome::kFatal},     // no such database
    {"42P01", Outcome::kFatal},  // no such table: not loaded
    {"53300", Outcome::kLost},   // too many connections, when coming back
    {"53", Outcome::kFatal},     // disk full, out of memory
    {"58", Outcome::kFatal},     // I/O error
    {"XX", Outcome::kFatal},     // internal, corruption
    {"F0", Outcome::kFatal},     // configuration
}};

struct PgMend {
  std::string_view words;  // in libpq's or the server's message
  std::string_view mend;
};

constexpr std::array<PgMend, 9> kPgMends = {{
    {"password", "give the password by PLIMSOLL_DB_PASSWORD or in the URL"},
    {"authentication failed", "give another user in the URL"},
    {"database \"", "create the database, or name another in the URL"},
    {"role \"", "create the role, or name another user in the URL"},
    {"too many clients", "raise the server's max_connections or lower --threads"},
    {"connection slots", "raise the server's max_connections or lower --threads"},
    {"SSL", "choose by ?sslmode=disable, require or verify-full in the URL"},
    {"certificate", "give the authority by ?sslrootcert=FILE, or ?sslmode=require"},
    {"pg_hba.conf", "let this user in by pg_hba.conf, or choose another by the URL"},
}};

std::string_view pg_mend_of(std::string_view message) {
  for (const auto& row : kPgMends) {
    if (message.find(row.words) != std::string_view::npos) return row.mend;
  }
  return "is the server running where the URL points?";
}

// libpq's messages span lines; an Error is one.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\t', ' ');
  return text;
}

std::string set_up_session(PGconn* connection) {
  if (PQstatus(connection) != CONNECTION_OK) return one_line(PQerrorMessage(connection));
  const PgResult set(PQexec(connection, "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'"));
  if (PQresultStatus(set.get()) == PGRES_COMMAND_OK) return {};
  return one_line(PQerrorMessage(connection));
}

}  // namespace

PgConnection connect_postgresql(const std::string& url) {
  const std::string password = password_of_environment();
  // Later ones win: what the URL says goes before our defaults, except for the encoding.
  std::vector<const char*> names = {"connect_timeout", "fallback_application_name"};
  std::vector<const char*> values = {"10", "plimsoll"};
  if (!password.empty()) {
    names.push_back("password");
    values.push_back(password.c_str());
  }
  names.insert(names.end(), {"dbname", "client_encoding", nullptr});
  values.insert(values.end(), {url.c_str(), "UTF8", nullptr});
  PgConnection connection(PQconnectdbParams(names.data(), values.data(), 1));
  if (const auto words = set_up_session(connection.get()); !words.empty())
    throw BrokenError(fmt::format("can't connect to PostgreSQL: {}; {}", words, pg_mend_of(words)));
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  return connection;
}

std::string reconnect_postgresql(PGconn* connection) {
  PQreset(connection);
  return set_up_session(connection);
}

Outcome postgresql_outcome(std::string_view sqlstate) {
  for (const auto& row : kPgMeanings) {
    if (sqlstate.starts_with(row.prefix)) return row.outcome;
  }
  return Outcome::kFailed;
}

DbError map_postgresql_error(PGconn* connection, const PGresult* result, PgPhase phase) {
  const char* sqlstate = result != nullptr ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  const bool gone = PQstatus(connection) == CONNECTION_BAD;
  DbError error;
  // An error without a state is libpq's own: of the connection.
  error.code = sqlstate != nullptr ? sqlstate : "08006";
  error.message = one_line(PQerrorMessage(connection));
  error.outcome = gone ? Outcome::kLost : postgresql_outcome(error.code);
  error.no_space = error.code == "53100";
  error.duplicate_key = error.code == "23505";
  if (error.outcome == Outcome::kLost && phase != PgPhase::kStatement)
    error.outcome = Outcome::kInDoubt;
  return error;
}

PgTexts query_postgresql(PGconn* connection, const std::string& sql) {
  const PgResult result(PQexec(connection, sql.c_str()));
  const auto status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw BrokenError(
        fmt::format("PostgreSQL refuses `{}`: {}", sql, one_line(PQerrorMessage(connection))));
  }
  PgTexts rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    for (int column = 0; column < PQnfields(result.get()); ++column)
      rows[static_cast<std::size_t>(row)].emplace_back(PQgetvalue(result.get(), row, column));
  }
  return rows;
}

}  // namespace plimsoll
