// A command as one can paste it.
#pragma once

#include <string>
#include <vector>

namespace plimsoll {

// The words joined by spaces, each quoted for a POSIX shell where it needs to be.
std::string shell_words(const std::vector<std::string>& argv);

}  // namespace plimsoll
