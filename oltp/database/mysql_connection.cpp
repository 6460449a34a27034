#include "oltp/database/mysql_connection.h"

#include <errmsg.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "results/base/error.h"

namespace plimsoll {
namespace {

struct MysqlMeaning {
  unsigned code;
  Outcome outcome;
};

constexpr std::array<MysqlMeaning, 38> kMysqlMeanings = {{
    {1213, Outcome::kRetryable},  // deadlock
    {1205, Outcome::kRetryable},  // lock wait time-out
    {1020, Outcome::kRetryable},  // changed since read: MariaDB under snapshot isolation
    {1614, Outcome::kRetryable},  // deadlock in an XA transaction
    {3572, Outcome::kRetryable},  // NOWAIT
    {2002, Outcome::kLost},       // can't connect, by socket
    {2003, Outcome::kLost},       // can't connect, by TCP
    {2006, Outcome::kLost},       // gone away
    {2013, Outcome::kLost},       // lost during a query
    {2055, Outcome::kLost},      {1040, Outcome::kLost},  // too many connections, when coming back
    {1053, Outcome::kLost},                               // shutdown in progress
    {1152, Outcome::kLost},                               // aborted connection
    {1158, Outcome::kLost},                               // network: read
    {1159, Outcome::kLost},      {1160, Outcome::kLost},  // network: write
    {1161, Outcome::kLost},      {1317, Outcome::kFailed},  // KILL QUERY
    {1927, Outcome::kLost},                                 // KILL CONNECTION
    {3169, Outcome::kLost},                                 // session killed
    {4031, Outcome::kLost},                                 // idle too long
    {1021, Outcome::kFatal},                                // disk full
    {1026, Outcome::kFatal},                                // writing a file
    {1030, Outcome::kFatal},                                // from the storage engine
    {1034, Outcome::kFatal},                                // corruption
    {1037, Outcome::kFatal},                                // out of memory
    {1041, Outcome::kFatal},     {1044, Outcome::kFatal},   // access
    {1045, Outcome::kFatal},     {1049, Outcome::kFatal},   // no such database
    {1114, Outcome::kFatal},                                // table full: InnoDB's disk full
    {1142, Outcome::kFatal},                                // access to a table
    {1146, Outcome::kFatal},                                // no such table: not loaded
    {1203, Outcome::kLost},   // this user's connections, when coming back
    {1290, Outcome::kFatal},  // read-only server
    {1712, Outcome::kFatal},  // index corrupted
    {1792, Outcome::kFatal},  // read-only transaction
    {1836, Outcome::kFatal},  // read-only mode
}};

struct MysqlMend {
  unsigned code;
  std::string_view mend;
};

constexpr std::array<MysqlMend, 10> kMysqlMends = {{
    {1045, "give the user in the URL and the password by PLIMSOLL_DB_PASSWORD"},
    {1044, "GRANT this user the database"},
    {1049, "create the database, or name another in the URL"},
    {1040, "raise the server's max_connections or lower --threads"},
    {1203, "raise max_user_connections or lower --threads"},
    {1130, "let this host in by CREATE USER 'name'@'host'"},
    {1461, "raise the server's max_prepared_stmt_count or lower --threads"},
    {2026, "choose by ?ssl-mode=disabled, required or verify-identity in the URL"},
    {2059,
     "the client library lacks this plugin: ALTER USER … IDENTIFIED VIA mysql_native_password"},
    {1524, "the server lacks this plugin: ALTER USER … IDENTIFIED VIA mysql_native_password"},
}};

constexpr std::array<std::string_view, 4> kIsolations = {"read-uncommitted", "read-committed",
                                                         "repeatable-read", "serializable"};
constexpr std::array<std::string_view, 5> kSslModes = {"disabled", "preferred", "required",
                                                       "verify-ca", "verify-identity"};
constexpr std::array<std::string_view, 9> kMysqlUrlSettings = {
    "socket",  "isolation",  "ssl-mode", "ssl-ca",   "ssl-cert",
    "ssl-key", "plugin-dir", "compress", "lock-wait"};

template <std::size_t N>
void check_word(const ConnectionUrl& url, const char* name,
                const std::array<std::string_view, N>& words) {
  const auto found = url.settings.find(name);
  if (found == url.settings.end() || std::ranges::find(words, found->second) != words.end()) return;
  throw UsageError(
      fmt::format("{}={} in the URL is none of {}", name, found->second, fmt::join(words, ", ")));
}

const char* setting(const ConnectionUrl& url, const char* name) {
  const auto found = url.settings.find(name);
  return found != url.settings.end() ? found->second.c_str() : nullptr;
}

// "preferred": encrypted where the server can, as the library does by itself.
void set_tls(MYSQL* connection, const ConnectionUrl& url) {
  const std::string mode = setting(url, "ssl-mode") ? setting(url, "ssl-mode") : "preferred";
  const my_bool verify = mode.starts_with("verify-") ? 1 : 0;
  const my_bool enforce = mode == "required" || verify != 0 ? 1 : 0;
  if (enforce != 0 || setting(url, "ssl-ca") || setting(url, "ssl-cert")) {
    mysql_ssl_set(connection, setting(url, "ssl-key"), setting(url, "ssl-cert"),
                  setting(url, "ssl-ca"), nullptr, nullptr);
  }
  mysql_optionsv(connection, MYSQL_OPT_SSL_ENFORCE, &enforce);
  mysql_optionsv(connection, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

// The library's own enforcing falls back to a plain connection where a server has no TLS.
bool lacks_tls(MYSQL* connection, const ConnectionUrl& url) {
  const std::string mode = setting(url, "ssl-mode") ? setting(url, "ssl-mode") : "preferred";
  const bool asked = mode != "preferred" && mode != "disabled";
  return asked && mysql_get_ssl_cipher(connection) == nullptr;
}

void set_options(MYSQL* connection, const ConnectionUrl& url) {
  const unsigned timeout_s = 10;
  mysql_optionsv(connection, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
  mysql_optionsv(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_optionsv(connection, MYSQL_INIT_COMMAND,
                 "SET time_zone = '+00:00', sql_mode = "
                 "'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'");
  std::string isolation = setting(url, "isolation") ? setting(url, "isolation") : "";
  std::ranges::replace(isolation, '-', ' ');
  if (!isolation.empty()) {
    mysql_optionsv(connection, MYSQL_INIT_COMMAND,
                   ("SET SESSION TRANSACTION ISOLATION LEVEL " + isolation).c_str());
  }
  if (const char* seconds = setting(url, "lock-wait")) {
    mysql_optionsv(connection, MYSQL_INIT_COMMAND,
                   fmt::format("SET innodb_lock_wait_timeout = {}", seconds).c_str());
  }
  if (setting(url, "plugin-dir"))
    mysql_optionsv(connection, MYSQL_PLUGIN_DIR, setting(url, "plugin-dir"));
  if (setting(url, "compress")) mysql_optionsv(connection, MYSQL_OPT_COMPRESS, nullptr);
  // The library takes "localhost" for the socket even where a port is given.
  const unsigned tcp = MYSQL_PROTOCOL_TCP;
  if (url.port != 0) mysql_optionsv(connection, MYSQL_OPT_PROTOCOL, &tcp);
  set_tls(connection, url);
}

}  // namespace

ConnectionUrl parse_mysql_url(const std::string& text) {
  ConnectionUrl url = parse_connection_url(text);
  for (const auto& [name, value] : url.settings) {
    if (std::ranges::find(kMysqlUrlSettings, name) == kMysqlUrlSettings.end())
      throw UsageError(fmt::format("'{}' is no setting of a mysql:// URL; there are {}", name,
                                   fmt::join(kMysqlUrlSettings, ", ")));
  }
  check_word(url, "isolation", kIsolations);
  check_word(url, "ssl-mode", kSslModes);
  if (const auto wait = url.settings.find("lock-wait"); wait != url.settings.end()) {
    const bool digits =
        std::ranges::all_of(wait->second, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || wait->second.empty())
      throw UsageError(
          fmt::format("lock-wait={} in the URL is no whole number of seconds", wait->second));
  }
  if (url.database.empty())
    throw UsageError("the URL names no database; give mysql://USER@HOST/DATABASE");
  return url;
}

MysqlConnection try_connect_mysql(const ConnectionUrl& url, DbError& error) {
  static std::once_flag once;
  std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
  MysqlConnection connection(mysql_init(nullptr));
  set_options(connection.get(), url);
  const char* host = url.host.empty() ? "localhost" : url.host.c_str();
  const char* user = url.user.empty() ? nullptr : url.user.c_str();
  if (mysql_real_connect(connection.get(), host, user, url.password.c_str(), url.database.c_str(),
                         url.port, setting(url, "socket"), 0) != nullptr) {
    if (!lacks_tls(connection.get(), url)) return connection;
    error = map_mysql_error(CR_SSL_CONNECTION_ERROR, "the server offers no TLS",
                            MysqlPhase::kStatement);
    return {};
  }
  error = map_mysql_error(mysql_errno(connection.get()), mysql_error(connection.get()),
                          MysqlPhase::kStatement);
  return {};
}

MysqlConnection connect_mysql(const ConnectionUrl& url) {
  DbError error;
  auto connection = try_connect_mysql(url, error);
  if (connection) return connection;
  const auto code = static_cast<unsigned>(std::stoul(error.code));
  throw BrokenError(
      fmt::format("can't connect to MySQL or MariaDB: {}; {}", error.message, mysql_mend(code)));
}

std::string_view mysql_mend(unsigned code) {
  const auto row = std::ranges::find(kMysqlMends, code, &MysqlMend::code);
  return row != kMysqlMends.end() ? row->mend : "is the server running where the URL points?";
}

Outcome mysql_outcome(unsigned code) {
  const auto row = std::ranges::find(kMysqlMeanings, code, &MysqlMeaning::code);
  return row != kMysqlMeanings.end() ? row->outcome : Outcome::kFailed;
}

DbError map_mysql_error(unsigned code, const std::string& words, MysqlPhase phase) {
  DbError error;
  error.code = std::to_string(code);
  error.message = words;
  std::ranges::replace(error.message, '\n', ' ');
  error.outcome = mysql_outcome(code);
  error.duplicate_key = code == 1062 || code == 1586;
  if (error.outcome == Outcome::kLost && phase != MysqlPhase::kStatement)
    error.outcome = Outcome::kInDoubt;
  error.no_space =
      code == 1021 || code == 1114 || (code == 1030 && words.find("error 28") != std::string::npos);
  return error;
}

MysqlTexts query_mysql(MYSQL* connection, const std::string& sql) {
  const auto refuse = [&]() -> MysqlTexts {
    throw BrokenError(fmt::format("the server refuses `{}`: {}", sql, mysql_error(connection)));
  };
  if (mysql_real_query(connection, sql.data(), sql.size()) != 0) return refuse();
  const std::unique_ptr<MYSQL_RES, MysqlClose> result(mysql_store_result(connection));
  if (!result) return mysql_errno(connection) != 0 ? refuse() : MysqlTexts{};
  MysqlTexts rows;
  while (MYSQL_ROW row = mysql_fetch_row(result.get())) {
    const auto* lengths = mysql_fetch_lengths(result.get());
    auto& texts = rows.emplace_back();
    for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i)
      texts.emplace_back(row[i] == nullptr ? "" : std::string(row[i], lengths[i]));
  }
  return rows;
}

}  // namespace plimsoll
