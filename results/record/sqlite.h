// SQLite's C API with exceptions and destructors, and no more: what results/record needs of it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "results/base/error.h"

namespace plimsoll::sqlite {

enum class Access { kRead, kWrite };

struct Blob {
  std::string_view bytes;
};

// While reading: the file is there, but not what SQLite needs beside it.
class CannotOpen : public UsageError {
  using UsageError::UsageError;
};

class Statement;

// One open database. Not thread-safe by itself. Every failure throws: BrokenError while writing
// (which tells a full disk from the rest), UsageError while reading.
class Connection {
 public:
  // `uri` is a file: URI or a path; `shown` is what errors call it.
  Connection(const std::string& uri, const std::filesystem::path& shown, Access access);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void script(const char* sql);          // several statements, results ignored
  bool try_script(const char* sql);      // false when another connection is in the way
  std::int64_t number(const char* sql);  // the first column of the first row; 0 without a row
  bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
  std::int64_t last_id() const { return sqlite3_last_insert_rowid(handle_); }
  [[noreturn]] void fail() const;

 private:
  friend class Statement;
  sqlite3* handle_ = nullptr;
  std::filesystem::path shown_;
  Access access_;
};

// Borrows its connection. Texts and blobs bound or read are valid until the next call.
class Statement {
 public:
  Statement(Connection& connection, const char* sql);
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Runs a statement without rows.
  template <typename... Values>
  void run(const Values&... values) {
    start(values...);
    next();
    sqlite3_reset(handle_);
  }
  // Binds all parameters; rows then come from next().
  template <typename... Values>
  void start(const Values&... values) {
    sqlite3_reset(handle_);
    int index = 0;
    (check(bind(++index, values)), ...);
  }
  bool next();

  bool is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  double real(int column) const { return sqlite3_column_double(handle_, column); }
  std::string text(int column) const { return std::string(bytes(column)); }
  std::string_view bytes(int column) const;

 private:
  int bind(int index, std::int64_t value) { return sqlite3_bind_int64(handle_, index, value); }
  int bind(int index, std::uint64_t value) {
    return sqlite3_bind_int64(handle_, index, static_cast<std::int64_t>(value));
  }
  int bind(int index, int value) { return sqlite3_bind_int(handle_, index, value); }
  int bind(int index, double value) { return sqlite3_bind_double(handle_, index, value); }
  int bind(int index, std::string_view value) {
    return sqlite3_bind_text64(handle_, index, value.data(), value.size(), SQLITE_STATIC,
                               SQLITE_UTF8);
  }
  int bind(int index, const std::string& value) { return bind(index, std::string_view(value)); }
  int bind(int index, Blob value) {
    return sqlite3_bind_blob64(handle_, index, value.bytes.data(), value.bytes.size(),
                               SQLITE_STATIC);
  }
  template <typename Value>
  int bind(int index, const std::optional<Value>& value) {
    return value ? bind(index, *value) : sqlite3_bind_null(handle_, index);
  }
  void check(int code) const {
    if (code != SQLITE_OK) connection_.fail();
  }

  Connection& connection_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace plimsoll::sqlite
