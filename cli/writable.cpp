#include "cli/writable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "results/base/error.h"

namespace plimsoll::cli {

void require_writable(const std::filesystem::path& folder) {
  if (::access(folder.c_str(), W_OK) == 0) return;
  throw RefusedError(fmt::format("can't write to {}: {}; name a folder that you may write to",
                                 folder.string(), std::strerror(errno)));
}

}  // namespace plimsoll::cli
