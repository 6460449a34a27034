// The client library's handles, owned; what a server's errors mean; texts for set-up.
#pragma once

#include <mysql.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "oltp/database/sql_text.h"

namespace plimsoll {

struct MysqlClose {
  void operator()(MYSQL* connection) const { mysql_close(connection); }
  void operator()(MYSQL_STMT* statement) const { mysql_stmt_close(statement); }
  void operator()(MYSQL_RES* result) const { mysql_free_result(result); }
};
using MysqlConnection = std::unique_ptr<MYSQL, MysqlClose>;
using MysqlStatement = std::unique_ptr<MYSQL_STMT, MysqlClose>;

// What the settings of a mysql:// URL say, checked. Throws UsageError naming those there are.
ConnectionUrl parse_mysql_url(const std::string& url);

// UTC, utf8mb4, strict SQL. `error` is set, and the result empty, when there is no connection.
MysqlConnection try_connect_mysql(const ConnectionUrl& url, DbError& error);
// Throws BrokenError naming the mend.
MysqlConnection connect_mysql(const ConnectionUrl& url);

// The one place where an error number gets its meaning.
Outcome mysql_outcome(unsigned code);
// What was being done when an error came: lost in a commit is in doubt, elsewhere it is not.
enum class MysqlPhase { kStatement, kAutocommitWrite, kCommit };
DbError map_mysql_error(unsigned code, const std::string& words, MysqlPhase phase);

// What mends an error of set-up.
std::string_view mysql_mend(unsigned code);

using MysqlTexts = std::vector<std::vector<std::string>>;  // NULL is empty
// For set-up; one statement. Throws BrokenError.
MysqlTexts query_mysql(MYSQL* connection, const std::string& sql);

}  // namespace plimsoll
