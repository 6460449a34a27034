// Whether a command may put files into a folder, asked before it measures.
#pragma once

#include <filesystem>

namespace plimsoll::cli {

// Throws RefusedError where this user can't write: no right to, or mounted read-only.
void require_writable(const std::filesystem::path& folder);

}  // namespace plimsoll::cli
