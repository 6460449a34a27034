#include <charconv>

#include "oltp/database/postgresql_database.h"
#include "oltp/database/postgresql_session.h"

namespace plimsoll {
namespace {

// Views of totals that one row describes. Their columns differ by version: all numbers are taken,
// whatever they are called. PostgreSQL refreshes them about once a second.
constexpr std::array<std::string_view, 4> kViews = {"pg_stat_wal", "pg_stat_bgwriter",
                                                    "pg_stat_checkpointer", "pg_stat_database"};

constexpr const char* kPgWaits =
    "SELECT COALESCE(wait_event_type || '/' || wait_event, 'CPU'), COUNT(*) FROM pg_stat_activity "
    "WHERE state = 'active' AND pid <> pg_backend_pid() AND datname = current_database() AND "
    "backend_type = 'client backend' GROUP BY 1";

class PostgresqlProbe final : public DbProbe {
 public:
  explicit PostgresqlProbe(const std::string& url) : connection_(connect_postgresql(url)) {
    for (const auto& view : kViews) {
      const auto rows = query_postgresql(
          connection_.get(), "SELECT to_regclass('pg_catalog." + std::string(view) + "')");
      if (rows[0][0].empty()) continue;
      std::string query = "SELECT * FROM " + std::string(view);
      if (view == "pg_stat_database") query += " WHERE datname = current_database()";
      queries_.push_back(std::move(query));
    }
  }

  std::vector<DbFigure> figures() override {
    std::vector<DbFigure> figures;
    for (const auto& query : queries_) add_numbers(query, figures);
    return figures;
  }

  std::map<std::string, int> waits() override {
    std::map<std::string, int> waits;
    for (const auto& row : query_postgresql(connection_.get(), kPgWaits))
      waits[row[0]] = static_cast<int>(std::stol(row[1]));
    return waits;
  }

 private:
  void add_numbers(const std::string& query, std::vector<DbFigure>& figures);

  PgConnection connection_;
  std::vector<std::string> queries_;
};

void PostgresqlProbe::add_numbers(const std::string& query, std::vector<DbFigure>& figures) {
  const PgResult result(PQexec(connection_.get(), query.c_str()));
  if (PQntuples(result.get()) != 1) query_postgresql(connection_.get(), query);  // its error
  for (int i = 0; i < PQnfields(result.get()) && PQntuples(result.get()) == 1; ++i) {
    const std::string_view text(PQgetvalue(result.get(), 0, i),
                                static_cast<std::size_t>(PQgetlength(result.get(), 0, i)));
    const std::string name = PQfname(result.get(), i);
    DbFigure figure{name, 0, name != "numbackends"};
    const auto read = std::from_chars(text.data(), text.data() + text.size(), figure.value);
    const bool number = read.ec == std::errc{} && read.ptr == text.data() + text.size();
    if (number && name != "datid") figures.push_back(std::move(figure));
  }
}

}  // namespace

std::unique_ptr<DbProbe> open_postgresql_probe(const std::string& url) {
  return std::make_unique<PostgresqlProbe>(url);
}

}  // namespace plimsoll
