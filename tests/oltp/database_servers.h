// Database servers for tests: one of a kind a process, started when first asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oltp/server/private_server.h"
#include "tests/lab/temp_dir.h"

namespace plimsoll::lab {

// A folder that a server's unprivileged user may pass.
class OpenDir : public TempDir {
 public:
  OpenDir() { std::filesystem::permissions(path(), std::filesystem::perms(0711)); }
};

// The engines whose server is installed here; says of the others that they are skipped.
std::vector<std::string> installed_servers();

// Null where it can't be had here, having said why as a skipped test. Ends with the process.
PrivateServer* database_server(const std::string& engine);

// The URL of a new empty database on it, whose sessions wait for another's lock for a moment only;
// through ODBC when `odbc`. Empty as above.
std::optional<std::string> empty_database(const std::string& engine, bool odbc = false);

}  // namespace plimsoll::lab
