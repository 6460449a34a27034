// An ODBC statement with the buffers that the driver binds.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "oltp/database/odbc_connection.h"

namespace plimsoll {

// The rows of one execute, copied out of the driver: its cursor is closed by then.
class OdbcRows final : public DbRows {
 public:
  std::size_t rows() const override { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  std::size_t columns() const override { return columns_; }
  DbView at(std::size_t row, std::size_t column) const override;
  std::int64_t affected() const override { return affected_; }

  void start(std::size_t columns, std::int64_t affected);
  // Of the row that was fetched; false when the driver fails.
  bool add(SQLHSTMT statement, const std::vector<SQLSMALLINT>& types);

 private:
  struct Cell {
    enum class Type : std::uint8_t { kNull, kInteger, kReal, kText, kDecimal } type;
    std::int64_t integer;  // or the offset in texts_
    double real;
    std::size_t length;
  };
  bool add_text(SQLHSTMT statement, SQLUSMALLINT column, Cell& cell);

  std::size_t columns_ = 0;
  std::int64_t affected_ = 0;
  std::vector<Cell> cells_;
  std::string texts_;
};

class OdbcStatement {
 public:
  explicit OdbcStatement(SQLHDBC connection);
  ~OdbcStatement();
  OdbcStatement(const OdbcStatement&) = delete;
  OdbcStatement& operator=(const OdbcStatement&) = delete;

  // false: words() say why.
  bool prepare(const std::string& sql);
  bool execute(std::span<const DbView> parameters);
  bool execute_direct(const std::string& sql);
  const OdbcRows& rows() const { return rows_; }
  const OdbcWords& words() const { return words_; }

 private:
  // A parameter's own storage; only another type or a longer text binds anew.
  struct Slot {
    SQLSMALLINT type = SQL_UNKNOWN_TYPE;
    std::int64_t integer = 0;
    double real = 0;
    std::string text;
    SQLLEN length = SQL_NULL_DATA;
  };
  bool put(std::size_t index, const DbView& value);
  bool bind(std::size_t index);
  bool take_results(SQLRETURN executed);
  bool fetch_all();
  bool fail();

  SQLHSTMT statement_ = SQL_NULL_HSTMT;
  std::deque<Slot> slots_;
  OdbcRows rows_;
  OdbcWords words_;
};

}  // namespace plimsoll
