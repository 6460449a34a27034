#include "oltp/database/odbc_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "oltp/database/odbc_statement.h"
#include "oltp/database/sql_text.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr std::array<OdbcDialect, 4> kDialects = {{
    {"Microsoft SQL Server", "sqlserver", "SCHEMA_NAME()",
     "SELECT SUM(CAST(size AS BIGINT)) * 8192 FROM sys.database_files"},
    {"PostgreSQL", "postgresql", "current_schema()", "SELECT pg_database_size(current_database())"},
    {"MariaDB", "mysql", "DATABASE()",
     "SELECT COALESCE(CAST(SUM(data_length + index_length) AS UNSIGNED), 0) FROM "
     "information_schema.tables WHERE table_schema = DATABASE()"},
    {"MySQL", "mysql", "DATABASE()",
     "SELECT COALESCE(CAST(SUM(data_length + index_length) AS UNSIGNED), 0) FROM "
     "information_schema.tables WHERE table_schema = DATABASE()"},
}};

struct OdbcMeaning {
  std::string_view engine;  // empty: any
  std::string_view state;   // a prefix; empty: any
  int native;               // 0: any
  Outcome outcome;
};

// The first row that fits counts. Drivers put a general state (HY000, 42000) on much of what the
// native code names.
constexpr std::array<OdbcMeaning, 33> kOdbcMeanings = {{
    {"", "40003", 0, Outcome::kInDoubt},
    {"", "08007", 0, Outcome::kInDoubt},
    {"", "40", 0, Outcome::kRetryable},
    {"", "55P03", 0, Outcome::kRetryable},
    {"sqlserver", "", 1205, Outcome::kRetryable},  // deadlock
    {"sqlserver", "", 1222, Outcome::kRetryable},  // lock time-out
    {"sqlserver", "", 3960, Outcome::kRetryable},  // snapshot conflict
    {"sqlserver", "", 3961, Outcome::kRetryable},
    {"mysql", "", 1205, Outcome::kRetryable},  // lock wait time-out
    {"mysql", "", 1213, Outcome::kRetryable},  // deadlock
    {"mysql", "", 1020, Outcome::kRetryable},  // changed since read
    {"", "08", 0, Outcome::kLost},
    {"", "57P", 0, Outcome::kLost},
    {"mysql", "", 2002, Outcome::kLost},
    {"mysql", "", 2003, Outcome::kLost},
    {"mysql", "", 2006, Outcome::kLost},
    {"mysql", "", 2013, Outcome::kLost},
    {"mysql", "", 1053, Outcome::kLost},
    {"mysql", "", 1927, Outcome::kLost},
    {"sqlserver", "", 6005, Outcome::kLost},   // shutdown in progress
    {"sqlserver", "", 596, Outcome::kLost},    // session killed
    {"sqlserver", "", 1105, Outcome::kFatal},  // file group full
    {"sqlserver", "", 1101, Outcome::kFatal},
    {"sqlserver", "", 9002, Outcome::kFatal},  // log full
    {"sqlserver", "", 823, Outcome::kFatal},   // I/O error
    {"sqlserver", "", 824, Outcome::kFatal},   // torn page, checksum
    {"mysql", "", 1114, Outcome::kFatal},      // disk full
    {"mysql", "", 1030, Outcome::kFatal},
    {"", "42S02", 0, Outcome::kFatal},  // no such table: not loaded
    {"", "42P01", 0, Outcome::kFatal},
    {"", "28", 0, Outcome::kFatal},
    {"", "53", 0, Outcome::kFatal},
    {"", "58", 0, Outcome::kFatal},
}};

struct OdbcMend {
  std::string_view words;
  std::string_view mend;
};

constexpr std::array<OdbcMend, 8> kOdbcMends = {{
    {"Can't open lib", "install that driver, or name one of `odbcinst -q -d` by Driver={…}"},
    {"Data source name not found", "name a driver by Driver={…}; `odbcinst -q -d` lists them"},
    {"self-signed", "the certificate isn't trusted: add TrustServerCertificate=yes"},
    {"self signed", "the certificate isn't trusted: add TrustServerCertificate=yes"},
    {"certificate verify failed", "the certificate isn't trusted: add TrustServerCertificate=yes"},
    {"ogin failed", "give UID in the connection string and the password by PLIMSOLL_DB_PASSWORD"},
    {"password", "give UID in the connection string and the password by PLIMSOLL_DB_PASSWORD"},
    {"Access denied", "give UID in the connection string and the password by PLIMSOLL_DB_PASSWORD"},
}};

std::string_view odbc_mend_of(std::string_view message) {
  for (const auto& row : kOdbcMends) {
    if (message.find(row.words) != std::string_view::npos) return row.mend;
  }
  return "is the server running where the connection string points?";
}

bool names_password(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.find("pwd=") != std::string::npos || text.find("password=") != std::string::npos;
}

// Braces keep `;` and the like inside a value; a closing one is doubled.
std::string with_password(std::string text) {
  const std::string password = password_of_environment();
  if (password.empty() || names_password(text)) return text;
  std::string quoted;
  for (const char c : password) quoted += c == '}' ? "}}" : std::string(1, c);
  return text + (text.ends_with(';') ? "" : ";") + "PWD={" + quoted + "}";
}

}  // namespace

const OdbcDialect& odbc_dialect(std::string_view product) {
  const auto found = std::ranges::find_if(
      kDialects, [&](const OdbcDialect& row) { return product.starts_with(row.product); });
  return found != kDialects.end() ? *found : kDialects.front();
}

OdbcWords odbc_words(SQLSMALLINT kind, SQLHANDLE handle) {
  OdbcWords words;
  std::array<SQLCHAR, 6> state{};
  std::array<SQLCHAR, 1024> text{};
  SQLINTEGER native = 0;
  SQLSMALLINT length = 0;
  if (SQL_SUCCEEDED(SQLGetDiagRec(kind, handle, 1, state.data(), &native, text.data(),
                                  static_cast<SQLSMALLINT>(text.size()), &length))) {
    words.state = reinterpret_cast<const char*>(state.data());
    words.native = native;
    words.text = reinterpret_cast<const char*>(text.data());
    std::ranges::replace(words.text, '\n', ' ');
  }
  return words;
}

Outcome odbc_outcome(std::string_view engine, const OdbcWords& words) {
  for (const auto& row : kOdbcMeanings) {
    const bool fits = (row.engine.empty() || row.engine == engine) &&
                      words.state.starts_with(row.state) &&
                      (row.native == 0 || row.native == words.native);
    if (fits) return row.outcome;
  }
  return Outcome::kFailed;
}

OdbcConnection::OdbcConnection(std::string text)
    : text_(with_password(std::move(text))), dialect_(&kDialects.front()) {
  SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &environment_);
  SQLSetEnvAttr(environment_, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0);
  SQLAllocHandle(SQL_HANDLE_DBC, environment_, &connection_);
  SQLSetConnectAttr(connection_, SQL_ATTR_LOGIN_TIMEOUT, reinterpret_cast<SQLPOINTER>(10), 0);
}

OdbcConnection::~OdbcConnection() {
  if (connected_) SQLDisconnect(connection_);
  SQLFreeHandle(SQL_HANDLE_DBC, connection_);
  SQLFreeHandle(SQL_HANDLE_ENV, environment_);
}

OdbcWords OdbcConnection::try_connect() {
  if (connected_) {
    SQLEndTran(SQL_HANDLE_DBC, connection_, SQL_ROLLBACK);
    SQLDisconnect(connection_);
  }
  connected_ = SQL_SUCCEEDED(SQLDriverConnect(connection_, nullptr, odbc_chars(text_), SQL_NTS,
                                              nullptr, 0, nullptr, SQL_DRIVER_NOPROMPT));
  if (!connected_) return words();
  dialect_ = &odbc_dialect(info(SQL_DBMS_NAME));
  return {};
}

void OdbcConnection::connect() {
  const auto failed = try_connect();
  if (connected_) return;
  throw BrokenError(
      fmt::format("can't connect by ODBC: {}; {}", failed.text, odbc_mend_of(failed.text)));
}

std::string OdbcConnection::info(SQLUSMALLINT what) const {
  std::array<char, 256> text{};
  SQLGetInfo(connection_, what, text.data(), static_cast<SQLSMALLINT>(text.size()), nullptr);
  return text.data();
}

OdbcTexts query_odbc(const OdbcConnection& connection, const std::string& sql) {
  OdbcStatement statement(connection.handle());
  if (!statement.execute_direct(sql)) {
    throw BrokenError(fmt::format("the database refuses `{}`: {}", sql, statement.words().text));
  }
  OdbcTexts rows(statement.rows().rows());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t column = 0; column < statement.rows().columns(); ++column)
      rows[row].push_back(text_of(statement.rows().at(row, column)));
  }
  return rows;
}

}  // namespace plimsoll
