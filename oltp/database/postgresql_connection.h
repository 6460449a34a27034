// libpq's handles, owned; what a server's errors mean; texts for set-up.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oltp/database/database.h"

namespace plimsoll {

struct PgClear {
  void operator()(PGresult* result) const { PQclear(result); }
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using PgResult = std::unique_ptr<PGresult, PgClear>;
using PgConnection = std::unique_ptr<PGconn, PgClear>;

// UTC, UTF-8, ISO dates. Throws BrokenError naming the mend.
PgConnection connect_postgresql(const std::string& url);
// The same on a connection that was lost; empty when it is back, else the server's words.
std::string reconnect_postgresql(PGconn* connection);

// The one place where an SQLSTATE gets its meaning.
Outcome postgresql_outcome(std::string_view sqlstate);

// What was being done when an error came: lost in a commit is in doubt, elsewhere it is not.
enum class PgPhase { kStatement, kAutocommitWrite, kCommit };
DbError map_postgresql_error(PGconn* connection, const PGresult* result, PgPhase phase);

using PgTexts = std::vector<std::vector<std::string>>;
// For set-up. Throws BrokenError.
PgTexts query_postgresql(PGconn* connection, const std::string& sql);

}  // namespace plimsoll
