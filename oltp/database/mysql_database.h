// MySQL and MariaDB by MariaDB's client library.
#pragma once

#include <memory>
#include <string>

#include "oltp/database/database.h"

namespace plimsoll {

// `url`: mysql://USER@HOST/DATABASE?socket=PATH&ssl-mode=…. Thread-safe.
std::unique_ptr<Database> open_mysql_database(const std::string& url);
std::unique_ptr<DbProbe> open_mysql_probe(const std::string& url);

}  // namespace plimsoll
