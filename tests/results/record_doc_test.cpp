// What docs/record.md tells users to type works.
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "results/record/record.h"
#include "tests/catch.h"
#include "tests/lab/temp_dir.h"
#include "tests/results/record_samples.h"

namespace plimsoll {
namespace {

// The text of each ```sql block.
std::vector<std::string> documented_queries() {
  std::ifstream page(std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "docs/record.md");
  std::vector<std::string> queries;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```sql") queries.emplace_back();
    if (inside && line != "```") queries.back() += line + "\n";
    inside = line != "```" && (inside || line == "```sql");
  }
  return queries;
}

// A transaction and its device's writes in the same seconds.
void write_sample_record(const std::filesystem::path& dir) {
  Record record = Record::create(dir, samples::spec());
  const Part part = record.begin_part("p", "oltp", Json::object(), 0);
  for (int second = 0; second < 3; ++second) {
    record.add_interval(samples::interval(part, "oltp", "oltp_read_write", second, {1000, 2000}));
    auto writes = samples::interval(part, "device:vda", "write", second, {500});
    writes.latencies.clear();
    writes.time_sum_ns = 500;
    record.add_interval(writes);
  }
  record.end_part(part, 3 * kSecond_ns, Json::object());
  record.finish(3 * kSecond_ns);
}

TEST_CASE("every query of docs/record.md runs on a record and finds rows") {
  const lab::TempDir dir;
  write_sample_record(dir.path());
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open((dir.path() / "record.db").c_str(), &db) == SQLITE_OK);
  const auto queries = documented_queries();
  CHECK(queries.size() >= 3);
  for (const auto& query : queries) {
    INFO(query);
    int rows = 0;
    const auto count = [](void* into, int, char**, char**) {
      return ++*static_cast<int*>(into), 0;
    };
    char* error = nullptr;
    const int code = sqlite3_exec(db, query.c_str(), count, &rows, &error);
    INFO((error == nullptr ? "" : error));
    CHECK(code == SQLITE_OK);
    CHECK(rows > 0);
    sqlite3_free(error);
  }
  sqlite3_close(db);
}

}  // namespace
}  // namespace plimsoll
