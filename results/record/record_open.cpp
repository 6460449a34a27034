#include <fmt/format.h>
#include <stdlib.h>

#include "results/base/error.h"
#include "results/record/record_impl.h"
#include "results/record/schema.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

fs::path record_file(const fs::path& path) {
  std::error_code error;
  const fs::path file = fs::is_directory(path, error) ? path / "record.db" : path;
  if (!fs::exists(file, error)) {
    throw UsageError(fmt::format("no record at {}: name a run's folder or its record.db{}",
                                 path.string(), error ? " (" + error.message() + ")" : ""));
  }
  return file;
}

fs::path journal_of(const fs::path& file) {
  return file.string() + "-wal";
}

bool has_journal(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(journal_of(file), error);
  return !error && size > 0;
}

// As a path in a URI, where some characters mean something else.
std::string uri_path(const fs::path& file) {
  std::string uri;
  for (const char c : fs::absolute(file).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri;
}

std::unique_ptr<sqlite::Connection> connect(const std::string& uri, const fs::path& shown) {
  auto db = std::make_unique<sqlite::Connection>(uri, shown, sqlite::Access::kRead);
  db->number("PRAGMA schema_version");  // the first that reads the file
  return db;
}

// Reading a journal takes a shared-memory file beside it. Where that can't be made (a read-only
// folder, a full disk) the record is opened as unchanging, or as a copy with its journal.
std::unique_ptr<sqlite::Connection> connect_anyhow(const fs::path& file,
                                                   std::unique_ptr<PrivateCopy>& copy) {
  try {
    return connect("file:" + uri_path(file), file);
  } catch (const sqlite::CannotOpen&) {
    if (!has_journal(file)) return connect("file:" + uri_path(file) + "?immutable=1", file);
  }
  copy = std::make_unique<PrivateCopy>(file);
  return connect("file:" + uri_path(copy->dir / "record.db"), file);
}

void check_kind(sqlite::Connection& db, const fs::path& file) {
  std::error_code error;
  if (fs::file_size(file, error) == 0) {
    throw UsageError(
        fmt::format("{} is empty: its run ended before anything was measured, or the "
                    "copy was cut; copy it again or repeat the run",
                    file.string()));
  }
  if (db.number("PRAGMA application_id") != kApplicationId) {
    throw UsageError(
        fmt::format("{} is a SQLite database but no Plimsoll record: name a run's folder "
                    "or its record.db",
                    file.string()));
  }
}

void check_version(sqlite::Connection& db, const fs::path& file) {
  const std::int64_t schema = db.number("PRAGMA user_version");
  if (schema <= Record::kSchemaVersion) return;
  sqlite::Statement statement(db, "SELECT plimsoll_version FROM run");
  statement.start();
  const std::string writer = statement.next() ? statement.text(0) : "a later version";
  throw UsageError(
      fmt::format("{} has schema {}, this Plimsoll reads up to {}: read it with Plimsoll "
                  "{} or later",
                  file.string(), schema, Record::kSchemaVersion, writer));
}

// Every page is looked at, so that a damaged record says so instead of giving a wrong number.
void check_whole(sqlite::Connection& db, const fs::path& file) {
  sqlite::Statement check(db, "PRAGMA quick_check(1)");
  check.start();
  const std::string answer = check.next() ? check.text(0) : "no answer";
  if (answer == "ok" && db.number("SELECT count(*) FROM run") == 1) return;
  throw UsageError(
      fmt::format("{} is truncated or damaged ({}): copy it again, or save what is left "
                  "with `sqlite3 {} .recover`",
                  file.string(), answer.substr(0, answer.find('\n')), file.string()));
}

}  // namespace

PrivateCopy::PrivateCopy(const fs::path& record_db) {
  std::string name = (fs::temp_directory_path() / "plimsoll-record-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw UsageError(fmt::format("{} can't be read where it lies nor copied to {}: make room there",
                                 record_db.string(), fs::temp_directory_path().string()));
  }
  dir = name;
  std::error_code error;
  fs::copy_file(record_db, dir / "record.db", error);
  if (!error) fs::copy_file(journal_of(record_db), dir / "record.db-wal", error);
  if (!error) return;
  fs::remove_all(dir);
  throw UsageError(fmt::format("{} can't be copied to {} ({}): make room there or allow reading",
                               record_db.string(), fs::temp_directory_path().string(),
                               error.message()));
}

PrivateCopy::~PrivateCopy() {
  std::error_code ignored;
  fs::remove_all(dir, ignored);
}

Record Record::open(const fs::path& path) {
  const fs::path file = record_file(path);
  auto impl = std::make_unique<Impl>();
  impl->dir = file.parent_path();
  impl->db = connect_anyhow(file, impl->copy);
  check_kind(*impl->db, file);
  check_version(*impl->db, file);
  check_whole(*impl->db, file);
  return Record(std::move(impl));
}

}  // namespace plimsoll
