// The packages of tests/npm, installed when they are not.
#pragma once

#include <filesystem>
#include <string>

namespace plimsoll::lab {

// tests/npm in the source tree.
std::filesystem::path npm_dir();

// Makes tests/npm/node_modules agree with its lock file (`npm ci`) unless it does already. Returns
// why node or the packages can't be had, for skip(); empty when they are there. Safe from several
// test processes at once.
std::string npm_problem();

}  // namespace plimsoll::lab
