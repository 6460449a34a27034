// unixODBC's handles, owned; what a driver's errors mean.
#pragma once

#include <sql.h>
#include <sqlext.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "oltp/database/database.h"

namespace plimsoll {

// What differs between the databases behind ODBC, by the name their driver gives them.
struct OdbcDialect {
  std::string_view product;  // begins SQL_DBMS_NAME
  std::string_view engine;   // names its files in schemas/
  std::string_view schema;   // an expression: where our tables are
  std::string_view size;     // a query: bytes of the database
};
// The first is SQL Server, which what nobody knows is taken for.
const OdbcDialect& odbc_dialect(std::string_view product);

// The first diagnostic of a handle.
struct OdbcWords {
  std::string state;  // SQLSTATE
  int native = 0;
  std::string text;
};
// The text as ODBC wants it, which it doesn't write to; valid as long as `text`.
inline SQLCHAR* odbc_chars(const std::string& text) {
  return reinterpret_cast<SQLCHAR*>(const_cast<char*>(text.c_str()));
}

OdbcWords odbc_words(SQLSMALLINT kind, SQLHANDLE handle);

// The one place where an SQLSTATE and a native code get their meaning.
Outcome odbc_outcome(std::string_view engine, const OdbcWords& words);

// An environment and a connection in it.
class OdbcConnection {
 public:
  // `text`: an ODBC connection string; PLIMSOLL_DB_PASSWORD is added where it has no PWD.
  explicit OdbcConnection(std::string text);
  ~OdbcConnection();
  OdbcConnection(const OdbcConnection&) = delete;
  OdbcConnection& operator=(const OdbcConnection&) = delete;

  void connect();           // throws BrokenError naming the mend
  OdbcWords try_connect();  // state empty: connected. All statements must be gone.
  SQLHDBC handle() const { return connection_; }
  std::string info(SQLUSMALLINT what) const;
  const OdbcDialect& dialect() const { return *dialect_; }
  OdbcWords words() const { return odbc_words(SQL_HANDLE_DBC, connection_); }

 private:
  const std::string text_;
  SQLHENV environment_ = SQL_NULL_HENV;
  SQLHDBC connection_ = SQL_NULL_HDBC;
  bool connected_ = false;
  const OdbcDialect* dialect_ = nullptr;
};

using OdbcTexts = std::vector<std::vector<std::string>>;  // NULL is empty
// For set-up; one statement. Throws BrokenError.
OdbcTexts query_odbc(const OdbcConnection& connection, const std::string& sql);

}  // namespace plimsoll
