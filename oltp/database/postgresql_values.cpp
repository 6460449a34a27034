#include "oltp/database/postgresql_values.h"

#include <endian.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>
#include <limits>

#include "oltp/database/sql_text.h"

namespace plimsoll {
namespace {

// pg_type's numbers, which never change (the server's pg_type_d.h is not in libpq-dev).
constexpr Oid kBool = 16, kBytea = 17, kName = 19, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25,
              kFloat4 = 700, kFloat8 = 701, kBpchar = 1042, kVarchar = 1043, kNumeric = 1700;

constexpr int kTextFormat = 0;
constexpr int kBinaryFormat = 1;

bool is_text(Oid type) {
  return type == kText || type == kBpchar || type == kVarchar || type == kName || type == kBytea;
}

template <typename T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename T>
bool fits(std::int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

DbView decode_binary(const char* bytes, std::size_t length, Oid type) {
  switch (type) {
    case kBool:
      return std::int64_t{bytes[0] != 0};
    case kInt2:
      return std::int64_t{static_cast<std::int16_t>(be16toh(load<std::uint16_t>(bytes)))};
    case kInt4:
      return std::int64_t{static_cast<std::int32_t>(be32toh(load<std::uint32_t>(bytes)))};
    case kInt8:
      return static_cast<std::int64_t>(be64toh(load<std::uint64_t>(bytes)));
    case kFloat4:
      return double{std::bit_cast<float>(be32toh(load<std::uint32_t>(bytes)))};
    case kFloat8:
      return std::bit_cast<double>(be64toh(load<std::uint64_t>(bytes)));
    default:
      return std::string_view(bytes, length);
  }
}

DbView decode_text(std::string_view text, Oid type) {
  switch (type) {
    case kBool:
      return std::int64_t{text == "t"};
    case kInt2:
    case kInt4:
    case kInt8:
    case kFloat4:
    case kFloat8:
    case kNumeric:
      return decimal_value(text);
    default:
      return text;
  }
}

}  // namespace

void PgParameters::set(std::span<const DbView> parameters, std::span<const Oid> types) {
  assert(parameters.size() == types.size());
  const auto count = parameters.size();
  values_.assign(count, nullptr);
  lengths_.assign(count, 0);
  formats_.assign(count, kTextFormat);
  numbers_.resize(std::max(count, numbers_.size()));
  texts_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto* integer = std::get_if<std::int64_t>(&parameters[i])) {
      set_integer(i, *integer, types[i]);
    } else if (const auto* real = std::get_if<double>(&parameters[i])) {
      set_real(i, *real, types[i]);
    } else if (const auto* text = std::get_if<std::string_view>(&parameters[i])) {
      set_text(i, *text, types[i]);
    }
  }
}

void PgParameters::set_bytes(std::size_t index, const char* bytes, std::size_t length, int format) {
  values_[index] = bytes;
  lengths_[index] = static_cast<int>(length);
  formats_[index] = format;
}

// What doesn't fit goes as text, so that the server says so in its own words.
void PgParameters::set_integer(std::size_t index, std::int64_t value, Oid type) {
  char* const place = numbers_[index].data();
  const auto put = [&](auto encoded) {
    std::memcpy(place, &encoded, sizeof encoded);
    set_bytes(index, place, sizeof encoded, kBinaryFormat);
  };
  if (type == kInt8) return put(htobe64(static_cast<std::uint64_t>(value)));
  if (type == kInt4 && fits<std::int32_t>(value))
    return put(htobe32(static_cast<std::uint32_t>(value)));
  if (type == kInt2 && fits<std::int16_t>(value))
    return put(htobe16(static_cast<std::uint16_t>(value)));
  if (type == kFloat8) return set_real(index, static_cast<double>(value), type);
  *std::to_chars(place, place + numbers_[index].size() - 1, value).ptr = '\0';
  set_bytes(index, place, 0, kTextFormat);
}

void PgParameters::set_real(std::size_t index, double value, Oid type) {
  char* const place = numbers_[index].data();
  if (type == kFloat8) {
    const auto encoded = htobe64(std::bit_cast<std::uint64_t>(value));
    std::memcpy(place, &encoded, sizeof encoded);
    return set_bytes(index, place, sizeof encoded, kBinaryFormat);
  }
  *std::to_chars(place, place + numbers_[index].size() - 1, value).ptr = '\0';
  set_bytes(index, place, 0, kTextFormat);
}

// Binary text has a length, so that neither a copy nor a terminating zero is needed.
void PgParameters::set_text(std::size_t index, std::string_view value, Oid type) {
  if (is_text(type)) {
    const char* bytes = value.data() == nullptr ? "" : value.data();
    return set_bytes(index, bytes, value.size(), kBinaryFormat);
  }
  set_bytes(index, texts_.emplace_back(value).c_str(), 0, kTextFormat);
}

bool binary_columns(std::span<const Oid> types) {
  return std::ranges::all_of(types, [](Oid type) {
    return is_text(type) || type == kBool || type == kInt2 || type == kInt4 || type == kInt8 ||
           type == kFloat4 || type == kFloat8;
  });
}

void PgRows::set(PGresult* result) {
  PQclear(result_);
  result_ = result;
}

DbView PgRows::at(std::size_t row, std::size_t column) const {
  assert(row < rows() && column < columns());
  const int r = static_cast<int>(row), c = static_cast<int>(column);
  if (PQgetisnull(result_, r, c) != 0) return std::monostate{};
  const char* bytes = PQgetvalue(result_, r, c);
  const auto length = static_cast<std::size_t>(PQgetlength(result_, r, c));
  const Oid type = PQftype(result_, c);
  if (PQfformat(result_, c) == kBinaryFormat) return decode_binary(bytes, length, type);
  return decode_text({bytes, length}, type);
}

std::int64_t PgRows::affected() const {
  // The tag of a SELECT counts the rows it read.
  if (result_ == nullptr || std::string_view(PQcmdStatus(result_)).starts_with("SELECT")) return 0;
  return std::strtoll(PQcmdTuples(result_), nullptr, 10);
}

}  // namespace plimsoll
