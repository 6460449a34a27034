// Passwords out of what is recorded or printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// `text` (one argument, URL, ODBC or libpq connection string) with every password replaced by
// "***": user:PASSWORD@ in URLs, password=, passwd=, pwd= and keys that end so, quoted or in braces
// as ODBC and libpq allow. Where a password could end in two places the later is taken: rather a
// host too much than a letter of a password.
std::string redact(std::string_view text);

// A command line; also the argument after an option whose name ends in "password".
std::vector<std::string> redact_argv(const std::vector<std::string>& arguments);

}  // namespace plimsoll
