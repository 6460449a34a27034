#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "oltp/database/mysql_database.h"
#include "oltp/database/mysql_session.h"

namespace plimsoll {
namespace {

// Of SHOW GLOBAL STATUS; a server that lacks one gives no row for it.
constexpr std::array<std::string_view, 30> kMysqlTotals = {"Innodb_data_reads",
                                                           "Innodb_data_writes",
                                                           "Innodb_data_fsyncs",
                                                           "Innodb_data_read",
                                                           "Innodb_data_written",
                                                           "Innodb_os_log_fsyncs",
                                                           "Innodb_os_log_written",
                                                           "Innodb_log_waits",
                                                           "Innodb_log_writes",
                                                           "Innodb_log_write_requests",
                                                           "Innodb_buffer_pool_reads",
                                                           "Innodb_buffer_pool_read_requests",
                                                           "Innodb_buffer_pool_pages_flushed",
                                                           "Innodb_buffer_pool_wait_free",
                                                           "Innodb_pages_read",
                                                           "Innodb_pages_written",
                                                           "Innodb_dblwr_pages_written",
                                                           "Innodb_dblwr_writes",
                                                           "Innodb_row_lock_time",
                                                           "Innodb_row_lock_waits",
                                                           "Innodb_deadlocks",
                                                           "Com_commit",
                                                           "Com_rollback",
                                                           "Com_select",
                                                           "Com_insert",
                                                           "Com_update",
                                                           "Com_delete",
                                                           "Com_stmt_execute",
                                                           "Questions"};
constexpr std::array<std::string_view, 8> kMysqlLevels = {
    "Innodb_data_pending_fsyncs",    "Innodb_data_pending_reads",
    "Innodb_data_pending_writes",    "Innodb_buffer_pool_pages_dirty",
    "Innodb_row_lock_current_waits", "Innodb_checkpoint_age",
    "Innodb_history_list_length",    "Threads_running"};

constexpr const char* kMysqlWaits =
    "SELECT IF(state IS NULL OR state = '', 'CPU', state), COUNT(*) FROM "
    "information_schema.processlist WHERE command <> 'Sleep' AND command <> 'Daemon' AND id <> "
    "CONNECTION_ID() AND db = DATABASE() GROUP BY 1";

class MysqlProbe final : public DbProbe {
 public:
  explicit MysqlProbe(const std::string& url) : connection_(connect_mysql(parse_mysql_url(url))) {}

  std::vector<DbFigure> figures() override {
    std::vector<DbFigure> figures;
    for (const auto& row :
         query_mysql(connection_.get(),
                     fmt::format("SHOW GLOBAL STATUS WHERE Variable_name IN ('{}', '{}')",
                                 fmt::join(kMysqlTotals, "','"), fmt::join(kMysqlLevels, "','")))) {
      DbFigure figure{row[0], 0, std::ranges::find(kMysqlLevels, row[0]) == kMysqlLevels.end()};
      const char* const end = row[1].data() + row[1].size();
      if (std::from_chars(row[1].data(), end, figure.value).ptr == end)
        figures.push_back(std::move(figure));
    }
    return figures;
  }

  // Stages, as the server names them: "Updating", "Commit", "Waiting for …".
  std::map<std::string, int> waits() override {
    std::map<std::string, int> waits;
    for (const auto& row : query_mysql(connection_.get(), kMysqlWaits))
      waits[row[0]] = static_cast<int>(std::stol(row[1]));
    return waits;
  }

 private:
  MysqlConnection connection_;
};

}  // namespace

std::unique_ptr<DbProbe> open_mysql_probe(const std::string& url) {
  return std::make_unique<MysqlProbe>(url);
}

}  // namespace plimsoll
