#include "oltp/database/database.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "oltp/database/sqlite_database.h"
#include "results/record/redact.h"
#ifdef PLIMSOLL_POSTGRESQL
#include "oltp/database/postgresql_database.h"
#endif
#ifdef PLIMSOLL_MYSQL
#include "oltp/database/mysql_database.h"
#endif
#ifdef PLIMSOLL_ODBC
#include "oltp/database/odbc_database.h"
#endif

namespace plimsoll {

std::string_view outcome_name(Outcome outcome) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "ok", "user rollback", "retryable", "in doubt", "failed", "fatal", "lost"};
  return kNames[static_cast<std::size_t>(outcome)];
}

void require_ok(Outcome outcome, const Session& session, const std::string& doing) {
  if (outcome == Outcome::kOk) return;
  const DbError& error = session.error();
  const std::string text = fmt::format("cannot {}: {} ({})", doing, error.message, error.code);
  if (error.no_space) throw NoSpaceError(text + ": free some space on the database's drive");
  throw BrokenError(text);
}

void execute_or_throw(Session& session, const std::string& sql,
                      std::span<const DbView> parameters) {
  const StatementId statement = session.prepare(sql);
  require_ok(session.execute(statement, parameters), session, fmt::format("run `{}`", sql));
}

const std::vector<DatabaseKind>& database_kinds() {
  static const std::vector<DatabaseKind> kinds = {
      {"sqlite", "sqlite:PATH[?cache=64MiB&synchronous=full&page_size=4096]", open_sqlite_database},
#ifdef PLIMSOLL_POSTGRESQL
      {"postgresql", "postgresql://USER@HOST/DATABASE[?sslmode=require&…]",
       open_postgresql_database},
#endif
#ifdef PLIMSOLL_MYSQL
      {"mysql", "mysql://USER@HOST/DATABASE[?socket=PATH&ssl-mode=required&…]",
       open_mysql_database},
#endif
#ifdef PLIMSOLL_ODBC
      {"sqlserver", "sqlserver:Driver={ODBC Driver 18 for SQL Server};Server=HOST;Database=NAME;…",
       open_odbc_database},
#endif
  };
  return kinds;
}

std::unique_ptr<Database> open_database(const std::string& url) {
  const std::string scheme = url.substr(0, url.find(':'));
  const auto& kinds = database_kinds();
  const auto kind = std::ranges::find(kinds, scheme, &DatabaseKind::scheme);
  if (kind != kinds.end() && url.size() > scheme.size()) return kind->open(url);
  std::vector<std::string_view> forms;
  for (const DatabaseKind& known : kinds) forms.push_back(known.url_form);
  throw UsageError(fmt::format("'{}' names no database that is built in; give {}", redact(url),
                               fmt::join(forms, ", ")));
}

}  // namespace plimsoll
