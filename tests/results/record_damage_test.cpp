#include <sqlite3.h>

#include "results/base/error.h"
#include "results/record/record.h"
#include "tests/catch.h"
#include "tests/lab/temp_dir.h"
#include "tests/results/record_samples.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using lab::TempDir;
using samples::seconds_in;

void execute(const fs::path& file, const std::string& sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  CHECK(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

TEST_CASE("record: a folder or file that isn't there says what to name") {
  const TempDir temp;
  CHECK_THROWS_AS(Record::open(temp.path() / "none"), UsageError);
  CHECK_THROWS_WITH(Record::open(temp.path() / "none"), ContainsSubstring("no record at"));
  CHECK_THROWS_WITH(Record::open(temp.path()), ContainsSubstring("no record at"));
}

TEST_CASE("record: a file that isn't a record says so") {
  const TempDir temp;
  const auto text = temp.path() / "notes.txt";
  lab::write_text(text, std::string(5000, 'x'));
  CHECK_THROWS_AS(Record::open(text), UsageError);
  CHECK_THROWS_WITH(Record::open(text), ContainsSubstring("no Plimsoll record"));
  const auto other = temp.path() / "other.db";
  execute(other, "CREATE TABLE run(id)");
  CHECK_THROWS_WITH(Record::open(other),
                    ContainsSubstring("SQLite database but no Plimsoll record"));
  const auto empty = temp.path() / "empty.db";
  lab::write_text(empty, "");
  CHECK_THROWS_WITH(Record::open(empty), ContainsSubstring("is empty"));
}

TEST_CASE("record: a newer schema names both versions and who can read it") {
  const TempDir temp;
  samples::write(temp.path() / "run", 1);
  execute(temp.path() / "run/record.db",
          "PRAGMA user_version = 7; UPDATE run SET plimsoll_version = '9.1.0'");
  CHECK_THROWS_AS(Record::open(temp.path() / "run"), UsageError);
  CHECK_THROWS_WITH(Record::open(temp.path() / "run"), ContainsSubstring("schema 7") &&
                                                           ContainsSubstring("up to 1") &&
                                                           ContainsSubstring("9.1.0"));
}

TEST_CASE("record: a record cut anywhere is refused in one line") {
  const TempDir temp;
  samples::write(temp.path() / "run", 60);
  const std::string whole = lab::read_text(temp.path() / "run/record.db");
  const auto cut = temp.path() / "cut.db";
  REQUIRE(whole.size() > 100'000);
  for (const double part : {0.0001, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999}) {
    lab::write_text(cut, whole.substr(0, static_cast<std::size_t>(whole.size() * part)));
    INFO(part);
    CHECK_THROWS_AS(Record::open(cut), UsageError);
  }
  lab::write_text(cut, whole);
  CHECK(Record::open(cut).parts().size() == 1);
}

TEST_CASE("record: overwritten pages are found before a number is given") {
  const TempDir temp;
  samples::write(temp.path() / "run", 60);
  const std::string whole = lab::read_text(temp.path() / "run/record.db");
  const auto damaged = temp.path() / "damaged.db";
  for (std::size_t page = 1; page * 8192 < whole.size(); page += 3) {
    std::string bytes = whole;
    bytes.replace(page * 8192, 512, 512, '\x5a');
    lab::write_text(damaged, bytes);
    INFO("page " << page);
    CHECK_THROWS_AS(Record::open(damaged), UsageError);
  }
}

TEST_CASE("record: a damaged cell in a sound file is said, not shown") {
  const TempDir temp;
  samples::write(temp.path() / "run", 2);
  execute(temp.path() / "run/record.db",
          "UPDATE latency SET histogram = x'1c84930400'; UPDATE run SET options = '{'");
  const Record record = Record::open(temp.path() / "run");
  CHECK_THROWS_AS(record.spec(), UsageError);
  CHECK_THROWS_AS(record.total(record.parts().at(0), "raw", "read"), UsageError);
  CHECK(record.intervals(record.parts().at(0), "raw", false).size() == 2);
}

TEST_CASE("record: reading a cut run changes nothing of it") {
  const TempDir temp;
  const samples::CutRun run(temp.path());
  const auto db = temp.path() / "cut/record.db";
  const std::string before = lab::read_text(db) + lab::read_text(db.string() + "-wal");
  CHECK(seconds_in(temp.path() / "cut") == 5);
  CHECK(lab::read_text(db) + lab::read_text(db.string() + "-wal") == before);
}

TEST_CASE("record: characters that mean something in a URI are part of a path") {
  const TempDir temp;
  const auto dir = temp.path() / "50% a?b#c ü";
  samples::write(dir, 2);
  CHECK(seconds_in(dir) == 2);
}

}  // namespace
}  // namespace plimsoll
