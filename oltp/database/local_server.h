// What a server's place on this machine tells: shared by the engines that have a server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oltp/database/database.h"

namespace plimsoll {

// A unix socket's path, the loopback, or nothing (the default socket).
bool is_local_host(std::string_view host);

// Where `path` lies; empty for an empty path or one that isn't here.
std::optional<std::uint64_t> free_bytes_at(const std::string& path);

// What is doubtful about where the data lies: memory that holds all of it, tmpfs, barriers that
// the file system was told to leave out. `data_path` empty or `pid` <= 0: the server is elsewhere.
void add_placement_findings(std::vector<PreflightFinding>& findings, std::uint64_t size_bytes,
                            const std::string& data_path, pid_t pid);

}  // namespace plimsoll
