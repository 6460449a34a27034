// PostgreSQL by libpq.
#pragma once

#include <memory>
#include <string>

#include "oltp/database/database.h"

namespace plimsoll {

// `url`: libpq's own form, postgresql://USER@HOST/DATABASE?sslmode=…. Thread-safe.
std::unique_ptr<Database> open_postgresql_database(const std::string& url);
std::unique_ptr<DbProbe> open_postgresql_probe(const std::string& url);

}  // namespace plimsoll
