#include "oltp/database/local_server.h"

#include <sys/statvfs.h>

namespace plimsoll {

bool is_local_host(std::string_view host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@') || host == "localhost" ||
         host == "::1" || host.starts_with("127.");
}

std::optional<std::uint64_t> free_bytes_at(const std::string& path) {
  struct statvfs space = {};
  if (path.empty() || statvfs(path.c_str(), &space) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

}  // namespace plimsoll
