// SQL Server, and whatever else has an ODBC driver.
#pragma once

#include <memory>
#include <string>

#include "oltp/database/database.h"

namespace plimsoll {

// `url`: "sqlserver:" and an ODBC connection string. Thread-safe.
std::unique_ptr<Database> open_odbc_database(const std::string& url);

}  // namespace plimsoll
