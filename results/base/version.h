// Plimsoll's own version.
#pragma once

#include <string>

namespace plimsoll {

// "0.1.0": the version of the CMake project.
std::string version();

}  // namespace plimsoll
