// A prepared statement with the buffers that the client library binds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oltp/database/mysql_connection.h"

namespace plimsoll {

// Of one statement's last execute. The library has taken all rows off the connection; they are
// decoded when the first value is asked for, as most of a benchmark's rows are only counted.
class MysqlRows final : public DbRows {
 public:
  void describe(MYSQL_STMT* statement);  // once prepared: the columns' types
  void start();                          // after each execute
  std::size_t rows() const override;
  std::size_t columns() const override { return slots_.size(); }
  DbView at(std::size_t row, std::size_t column) const override;
  std::int64_t affected() const override;

 private:
  struct Slot {
    enum_field_types type;
    std::int64_t integer = 0;
    double real = 0;
    std::vector<char> text;
    unsigned long length = 0;
    my_bool null = 0;
  };
  struct Cell {
    enum class Type : std::uint8_t { kNull, kInteger, kReal, kText, kDecimal } type;
    union {
      std::int64_t integer;
      double real;
      std::size_t offset;  // into texts_
    };
    std::size_t length;
  };
  void decode() const;
  void bind() const;
  Cell take(Slot& slot, unsigned column) const;

  MYSQL_STMT* statement_ = nullptr;
  // The library writes into these while at() decodes.
  mutable std::vector<Slot> slots_;
  mutable std::vector<Cell> cells_;
  mutable std::string texts_;
  mutable bool decoded_ = false;
};

class MysqlPrepared {
 public:
  explicit MysqlPrepared(std::string sql);

  // 0, or the error's number; words() has the rest.
  unsigned prepare(MYSQL* connection);
  unsigned execute(std::span<const DbView> parameters);
  std::string words() const { return mysql_stmt_error(statement_.get()); }
  void abandon() { statement_.reset(); }  // before its connection is closed
  const std::string& sql() const { return sql_; }
  bool only_reads() const { return only_reads_; }
  const MysqlRows& rows() const { return rows_; }

 private:
  // A parameter's own storage, bound once; only another type or a longer text binds anew.
  struct Slot {
    enum_field_types type = MYSQL_TYPE_NULL;
    std::int64_t integer = 0;
    double real = 0;
    std::string text;
    unsigned long length = 0;
    my_bool null = 1;
  };
  bool put(Slot& slot, const DbView& value);  // true: must be bound anew
  bool bind();

  std::string sql_;
  bool only_reads_;
  MysqlStatement statement_;
  std::vector<Slot> slots_;
  MysqlRows rows_;
  bool bound_ = false;
};

}  // namespace plimsoll
