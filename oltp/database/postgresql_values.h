// Parameters and results in PostgreSQL's binary form where that is cheap and exact.
#pragma once

#include <libpq-fe.h>

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "oltp/database/database.h"

namespace plimsoll {

// The arrays that libpq takes, reused from one execute to the next.
class PgParameters {
 public:
  // `types`: what the server told of each parameter. Views must stay valid until it was sent.
  void set(std::span<const DbView> parameters, std::span<const Oid> types);
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }
  int size() const { return static_cast<int>(values_.size()); }

 private:
  void set_integer(std::size_t index, std::int64_t value, Oid type);
  void set_real(std::size_t index, double value, Oid type);
  void set_text(std::size_t index, std::string_view value, Oid type);
  void set_bytes(std::size_t index, const char* bytes, std::size_t length, int format);

  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
  std::vector<std::array<char, 32>> numbers_;
  std::deque<std::string> texts_;  // of those that must end with a zero
};

// True where every column of a result can be asked for in binary.
bool binary_columns(std::span<const Oid> types);

// Decoded when asked for, out of libpq's own memory.
class PgRows final : public DbRows {
 public:
  void set(PGresult* result);  // owns it from now on
  const PGresult* result() const { return result_; }
  ~PgRows() override { PQclear(result_); }
  PgRows() = default;
  PgRows(const PgRows&) = delete;
  PgRows& operator=(const PgRows&) = delete;

  std::size_t rows() const override { return static_cast<std::size_t>(PQntuples(result_)); }
  std::size_t columns() const override { return static_cast<std::size_t>(PQnfields(result_)); }
  DbView at(std::size_t row, std::size_t column) const override;
  std::int64_t affected() const override;

 private:
  PGresult* result_ = nullptr;
};

}  // namespace plimsoll
