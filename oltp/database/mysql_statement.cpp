#include "oltp/database/mysql_statement.h"

#include <cassert>
#include <cstring>

namespace plimsoll {
namespace {

constexpr std::size_t kTextBytes = 256;

enum_field_types bound_type(enum_field_types column) {
  switch (column) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR:
      return MYSQL_TYPE_LONGLONG;
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
      return MYSQL_TYPE_DOUBLE;
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL:
      return MYSQL_TYPE_NEWDECIMAL;
    default:
      return MYSQL_TYPE_STRING;
  }
}

}  // namespace

void MysqlRows::describe(MYSQL_STMT* statement) {
  statement_ = statement;
  slots_.clear();
  const std::unique_ptr<MYSQL_RES, MysqlClose> columns(mysql_stmt_result_metadata(statement));
  if (!columns) return;
  for (unsigned i = 0; i < mysql_num_fields(columns.get()); ++i) {
    Slot& slot = slots_.emplace_back();
    slot.type = bound_type(mysql_fetch_field_direct(columns.get(), i)->type);
    slot.text.resize(kTextBytes);
  }
}

void MysqlRows::start() {
  decoded_ = false;
  cells_.clear();
  texts_.clear();
}

std::size_t MysqlRows::rows() const {
  return slots_.empty() ? 0 : static_cast<std::size_t>(mysql_stmt_num_rows(statement_));
}

std::int64_t MysqlRows::affected() const {
  return slots_.empty() ? static_cast<std::int64_t>(mysql_stmt_affected_rows(statement_)) : 0;
}

DbView MysqlRows::at(std::size_t row, std::size_t column) const {
  if (!decoded_) decode();
  assert(row < rows() && column < columns());
  const Cell& cell = cells_[row * slots_.size() + column];
  switch (cell.type) {
    case Cell::Type::kNull:
      return std::monostate{};
    case Cell::Type::kInteger:
      return cell.integer;
    case Cell::Type::kReal:
      return cell.real;
    case Cell::Type::kText:
      return std::string_view(texts_).substr(cell.offset, cell.length);
    case Cell::Type::kDecimal:
      return decimal_value(std::string_view(texts_).substr(cell.offset, cell.length));
  }
  return std::monostate{};
}

void MysqlRows::bind() const {
  std::vector<MYSQL_BIND> binds(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    MYSQL_BIND& bind = binds[i];
    bind = {};
    bind.buffer_type = slot.type == MYSQL_TYPE_NEWDECIMAL ? MYSQL_TYPE_STRING : slot.type;
    bind.is_null = &slot.null;
    bind.length = &slot.length;
    bind.buffer = slot.type == MYSQL_TYPE_LONGLONG ? static_cast<void*>(&slot.integer)
                  : slot.type == MYSQL_TYPE_DOUBLE ? static_cast<void*>(&slot.real)
                                                   : static_cast<void*>(slot.text.data());
    bind.buffer_length = slot.text.size();
  }
  mysql_stmt_bind_result(statement_, binds.data());
}

void MysqlRows::decode() const {
  decoded_ = true;
  bind();
  for (std::size_t row = 0; row < rows(); ++row) {
    const int status = mysql_stmt_fetch(statement_);
    if (status != 0 && status != MYSQL_DATA_TRUNCATED) break;
    for (unsigned i = 0; i < slots_.size(); ++i) cells_.push_back(take(slots_[i], i));
  }
}

MysqlRows::Cell MysqlRows::take(Slot& slot, unsigned column) const {
  Cell cell{};
  if (slot.null != 0) return cell;
  if (slot.type == MYSQL_TYPE_LONGLONG) {
    cell.type = Cell::Type::kInteger;
    cell.integer = slot.integer;
  } else if (slot.type == MYSQL_TYPE_DOUBLE) {
    cell.type = Cell::Type::kReal;
    cell.real = slot.real;
  } else {
    cell.type = slot.type == MYSQL_TYPE_NEWDECIMAL ? Cell::Type::kDecimal : Cell::Type::kText;
    cell.offset = texts_.size();
    cell.length = slot.length;
    texts_.resize(texts_.size() + slot.length);
    char* const place = texts_.data() + cell.offset;
    if (slot.length <= slot.text.size()) {
      std::memcpy(place, slot.text.data(), slot.length);
    } else {
      MYSQL_BIND whole = {};
      whole.buffer_type = MYSQL_TYPE_STRING;
      whole.buffer = place;
      whole.buffer_length = slot.length;
      mysql_stmt_fetch_column(statement_, &whole, column, 0);
    }
  }
  return cell;
}

MysqlPrepared::MysqlPrepared(std::string sql)
    : sql_(std::move(sql)), only_reads_(plimsoll::only_reads(sql_)) {}

unsigned MysqlPrepared::prepare(MYSQL* connection) {
  statement_.reset(mysql_stmt_init(connection));
  if (mysql_stmt_prepare(statement_.get(), sql_.data(), sql_.size()) != 0)
    return mysql_stmt_errno(statement_.get());
  slots_.assign(mysql_stmt_param_count(statement_.get()), Slot{});
  bound_ = false;
  rows_.describe(statement_.get());
  return 0;
}

bool MysqlPrepared::put(Slot& slot, const DbView& value) {
  const auto retype = [&slot](enum_field_types type) {
    const bool changed = slot.type != type;
    slot.type = type;
    return changed;
  };
  slot.null = std::holds_alternative<std::monostate>(value) ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    slot.integer = *integer;
    return retype(MYSQL_TYPE_LONGLONG);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    slot.real = *real;
    return retype(MYSQL_TYPE_DOUBLE);
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    const char* const before = slot.text.data();
    slot.text.assign(*text);
    slot.length = text->size();
    return retype(MYSQL_TYPE_STRING) || slot.text.data() != before;
  }
  return false;
}

bool MysqlPrepared::bind() {
  std::vector<MYSQL_BIND> binds(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    MYSQL_BIND& bind = binds[i];
    bind = {};
    bind.buffer_type = slot.type;
    bind.is_null = &slot.null;
    bind.length = &slot.length;
    bind.buffer = slot.type == MYSQL_TYPE_LONGLONG ? static_cast<void*>(&slot.integer)
                  : slot.type == MYSQL_TYPE_DOUBLE ? static_cast<void*>(&slot.real)
                                                   : static_cast<void*>(slot.text.data());
    bind.buffer_length = slot.text.size();
  }
  return mysql_stmt_bind_param(statement_.get(), binds.data()) == 0;
}

unsigned MysqlPrepared::execute(std::span<const DbView> parameters) {
  assert(parameters.size() == slots_.size());
  bool rebind = !bound_;
  for (std::size_t i = 0; i < slots_.size(); ++i) rebind |= put(slots_[i], parameters[i]);
  if (rebind && !slots_.empty()) {
    if (!bind()) return mysql_stmt_errno(statement_.get());
    bound_ = true;
  }
  rows_.start();
  if (mysql_stmt_execute(statement_.get()) != 0) return mysql_stmt_errno(statement_.get());
  if (rows_.columns() > 0 && mysql_stmt_store_result(statement_.get()) != 0)
    return mysql_stmt_errno(statement_.get());
  return 0;
}

}  // namespace plimsoll
