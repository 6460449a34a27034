#include "oltp/database/odbc_statement.h"

#include <cassert>
#include <cstring>

#include "oltp/database/sql_text.h"

namespace plimsoll {
namespace {

constexpr std::size_t kVarcharBytes = 8000;  // SQL Server's longest that isn't a large object

}  // namespace

DbView OdbcRows::at(std::size_t row, std::size_t column) const {
  assert(row < rows() && column < columns_);
  const Cell& cell = cells_[row * columns_ + column];
  const auto text = [&] {
    return std::string_view(texts_).substr(static_cast<std::size_t>(cell.integer), cell.length);
  };
  switch (cell.type) {
    case Cell::Type::kNull:
      return std::monostate{};
    case Cell::Type::kInteger:
      return cell.integer;
    case Cell::Type::kReal:
      return cell.real;
    case Cell::Type::kText:
      return text();
    case Cell::Type::kDecimal:
      return decimal_value(text());
  }
  return std::monostate{};
}

void OdbcRows::start(std::size_t columns, std::int64_t affected) {
  columns_ = columns;
  affected_ = affected;
  cells_.clear();
  texts_.clear();
}

bool OdbcRows::add(SQLHSTMT statement, const std::vector<SQLSMALLINT>& types) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto column = static_cast<SQLUSMALLINT>(i + 1);
    Cell cell{Cell::Type::kNull, 0, 0, 0};
    SQLLEN length = 0;
    SQLRETURN read = SQL_SUCCESS;
    switch (types[i]) {
      case SQL_BIT:
      case SQL_TINYINT:
      case SQL_SMALLINT:
      case SQL_INTEGER:
      case SQL_BIGINT:
        read = SQLGetData(statement, column, SQL_C_SBIGINT, &cell.integer, 0, &length);
        if (length != SQL_NULL_DATA) cell.type = Cell::Type::kInteger;
        break;
      case SQL_REAL:
      case SQL_FLOAT:
      case SQL_DOUBLE:
        read = SQLGetData(statement, column, SQL_C_DOUBLE, &cell.real, 0, &length);
        if (length != SQL_NULL_DATA) cell.type = Cell::Type::kReal;
        break;
      default:
        if (!add_text(statement, column, cell)) return false;
        if (cell.type == Cell::Type::kText && (types[i] == SQL_DECIMAL || types[i] == SQL_NUMERIC))
          cell.type = Cell::Type::kDecimal;
    }
    if (!SQL_SUCCEEDED(read)) return false;
    cells_.push_back(cell);
  }
  return true;
}

// In pieces, each ended by a zero, until the driver has no more.
bool OdbcRows::add_text(SQLHSTMT statement, SQLUSMALLINT column, Cell& cell) {
  char piece[512];
  const auto start = texts_.size();
  for (;;) {
    SQLLEN left = 0;
    const SQLRETURN read = SQLGetData(statement, column, SQL_C_CHAR, piece, sizeof piece, &left);
    if (read == SQL_NO_DATA) break;
    if (!SQL_SUCCEEDED(read)) return false;
    if (left == SQL_NULL_DATA) return true;
    const bool more = left == SQL_NO_TOTAL || left >= static_cast<SQLLEN>(sizeof piece);
    texts_.append(piece, more ? sizeof piece - 1 : static_cast<std::size_t>(left));
    if (!more) break;
  }
  cell.type = Cell::Type::kText;
  cell.integer = static_cast<std::int64_t>(start);
  cell.length = texts_.size() - start;
  return true;
}

OdbcStatement::OdbcStatement(SQLHDBC connection) {
  if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement_)))
    words_ = odbc_words(SQL_HANDLE_DBC, connection);
}

OdbcStatement::~OdbcStatement() {
  if (statement_ != SQL_NULL_HSTMT) SQLFreeHandle(SQL_HANDLE_STMT, statement_);
}

bool OdbcStatement::fail() {
  words_ = odbc_words(SQL_HANDLE_STMT, statement_);
  SQLFreeStmt(statement_, SQL_CLOSE);
  return false;
}

// Drivers put a prepare off until something is asked of the statement.
bool OdbcStatement::prepare(const std::string& sql) {
  if (statement_ == SQL_NULL_HSTMT) return false;
  SQLSMALLINT columns = 0, parameters = 0;
  if (!SQL_SUCCEEDED(SQLPrepare(statement_, odbc_chars(sql), SQL_NTS)) ||
      !SQL_SUCCEEDED(SQLNumResultCols(statement_, &columns)) ||
      !SQL_SUCCEEDED(SQLNumParams(statement_, &parameters)))
    return fail();
  slots_.resize(static_cast<std::size_t>(parameters));
  return true;
}

bool OdbcStatement::put(std::size_t index, const DbView& value) {
  Slot& slot = slots_[index];
  const auto before = slot.type;
  const char* const storage = slot.text.data();
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    slot.integer = *integer;
    slot.length = 0;
    slot.type = SQL_BIGINT;
  } else if (const auto* real = std::get_if<double>(&value)) {
    slot.real = *real;
    slot.length = 0;
    slot.type = SQL_DOUBLE;
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    slot.text.assign(*text);
    slot.length = static_cast<SQLLEN>(text->size());
    slot.type = text->size() > kVarcharBytes ? SQL_LONGVARCHAR : SQL_VARCHAR;
  } else {
    slot.length = SQL_NULL_DATA;
    if (slot.type == SQL_UNKNOWN_TYPE) slot.type = SQL_VARCHAR;
  }
  return slot.type == before && slot.text.data() == storage ? true : bind(index);
}

bool OdbcStatement::bind(std::size_t index) {
  Slot& slot = slots_[index];
  const auto number = static_cast<SQLUSMALLINT>(index + 1);
  SQLRETURN bound = SQL_ERROR;
  if (slot.type == SQL_BIGINT) {
    bound = SQLBindParameter(statement_, number, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 19, 0,
                             &slot.integer, 0, &slot.length);
  } else if (slot.type == SQL_DOUBLE) {
    bound = SQLBindParameter(statement_, number, SQL_PARAM_INPUT, SQL_C_DOUBLE, SQL_DOUBLE, 15, 0,
                             &slot.real, 0, &slot.length);
  } else {
    const auto size =
        static_cast<SQLULEN>(slot.type == SQL_VARCHAR ? kVarcharBytes : slot.text.capacity());
    bound =
        SQLBindParameter(statement_, number, SQL_PARAM_INPUT, SQL_C_CHAR, slot.type, size, 0,
                         slot.text.data(), static_cast<SQLLEN>(slot.text.capacity()), &slot.length);
  }
  return SQL_SUCCEEDED(bound);
}

bool OdbcStatement::execute(std::span<const DbView> parameters) {
  assert(parameters.size() == slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!put(i, parameters[i])) return fail();
  }
  return take_results(SQLExecute(statement_));
}

bool OdbcStatement::execute_direct(const std::string& sql) {
  if (statement_ == SQL_NULL_HSTMT) return false;
  return take_results(SQLExecDirect(statement_, odbc_chars(sql), SQL_NTS));
}

// SQL_NO_DATA: nothing was touched, or (some servers) there was nothing to say.
bool OdbcStatement::take_results(SQLRETURN executed) {
  rows_.start(0, 0);
  if (executed == SQL_NO_DATA) return true;
  if (!SQL_SUCCEEDED(executed)) return fail();
  SQLSMALLINT columns = 0;
  if (!SQL_SUCCEEDED(SQLNumResultCols(statement_, &columns))) return fail();
  if (columns > 0) {
    rows_.start(static_cast<std::size_t>(columns), 0);
    if (!fetch_all()) return fail();
  } else {
    SQLLEN touched = 0;
    if (SQL_SUCCEEDED(SQLRowCount(statement_, &touched)) && touched > 0)
      rows_.start(0, static_cast<std::int64_t>(touched));
  }
  // An error may come with a later result of the same statement.
  SQLRETURN more;
  while (SQL_SUCCEEDED(more = SQLMoreResults(statement_))) {
  }
  if (more != SQL_NO_DATA) return fail();
  SQLFreeStmt(statement_, SQL_CLOSE);
  return true;
}

bool OdbcStatement::fetch_all() {
  std::vector<SQLSMALLINT> types(rows_.columns());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!SQL_SUCCEEDED(SQLDescribeCol(statement_, static_cast<SQLUSMALLINT>(i + 1), nullptr, 0,
                                      nullptr, &types[i], nullptr, nullptr, nullptr)))
      return false;
  }
  SQLRETURN fetched;
  while (SQL_SUCCEEDED(fetched = SQLFetch(statement_))) {
    if (!rows_.add(statement_, types)) return false;
  }
  return fetched == SQL_NO_DATA;
}

}  // namespace plimsoll
