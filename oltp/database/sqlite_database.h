// The embedded database: no server, the drive beneath a file.
#pragma once

#include <memory>
#include <string>

#include "oltp/database/database.h"

namespace plimsoll {

std::unique_ptr<Database> open_sqlite_database(const std::string& url);

}  // namespace plimsoll
