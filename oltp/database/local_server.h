// What a server's place on this machine tells: shared by the engines that have a server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

// A unix socket's path, the loopback, or nothing (the default socket).
bool is_local_host(std::string_view host);

// Where `path` lies; empty for an empty path or one that isn't here.
std::optional<std::uint64_t> free_bytes_at(const std::string& path);

}  // namespace plimsoll
