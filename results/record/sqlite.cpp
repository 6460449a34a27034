#include "results/record/sqlite.h"

#include <fmt/format.h>

#include <cerrno>

namespace plimsoll::sqlite {
namespace {

constexpr int kBusyTimeout_ms = 5000;

bool is_no_space(sqlite3* handle) {
  const int code = sqlite3_errcode(handle);
  const int cause = sqlite3_system_errno(handle);
  return code == SQLITE_FULL || (code == SQLITE_IOERR && (cause == ENOSPC || cause == EDQUOT));
}

[[noreturn]] void fail_writing(sqlite3* handle, const std::filesystem::path& shown) {
  const std::string dir = shown.parent_path().string();
  if (is_no_space(handle)) {
    throw BrokenError(
        fmt::format("no space left for the record {}: free some there or give --out a folder on "
                    "another drive (what was committed stays readable: plimsoll show {})",
                    shown.string(), dir));
  }
  throw BrokenError(fmt::format("the record {} can't be written ({}): give --out a folder that can",
                                shown.string(), sqlite3_errmsg(handle)));
}

[[noreturn]] void fail_reading(sqlite3* handle, const std::filesystem::path& shown) {
  const char* reason = sqlite3_errmsg(handle);
  switch (sqlite3_errcode(handle)) {
    case SQLITE_NOTADB:
      throw UsageError(
          fmt::format("{} is no Plimsoll record ({}): name a run's folder or its "
                      "record.db",
                      shown.string(), reason));
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // tables missing: a part of the file is
      throw UsageError(
          fmt::format("{} is truncated or damaged ({}): copy it again, or save what is "
                      "left with `sqlite3 {} .recover`",
                      shown.string(), reason, shown.string()));
    default:
      throw CannotOpen(fmt::format("{} can't be read ({}): check its permissions and drive",
                                   shown.string(), reason));
  }
}

}  // namespace

Connection::Connection(const std::string& uri, const std::filesystem::path& shown, Access access)
    : shown_(shown), access_(access) {
  const int flags =
      SQLITE_OPEN_URI | (access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  if (sqlite3_open_v2(uri.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
    try {
      fail();
    } catch (...) {
      sqlite3_close(handle_);
      throw;
    }
  }
  sqlite3_busy_timeout(handle_, kBusyTimeout_ms);
}

Connection::~Connection() {
  sqlite3_close(handle_);
}

void Connection::script(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

bool Connection::try_script(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return false;
  if (code != SQLITE_OK) fail();
  return true;
}

std::int64_t Connection::number(const char* sql) {
  Statement statement(*this, sql);
  statement.start();
  return statement.next() ? statement.integer(0) : 0;
}

void Connection::fail() const {
  if (access_ == Access::kWrite) fail_writing(handle_, shown_);
  fail_reading(handle_, shown_);
}

Statement::Statement(Connection& connection, const char* sql) : connection_(connection) {
  check(sqlite3_prepare_v2(connection.handle_, sql, -1, &handle_, nullptr));
}

bool Statement::next() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  connection_.fail();
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

}  // namespace plimsoll::sqlite
