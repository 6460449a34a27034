// Small things that more than one engine does to the text of SQL and of connection URLs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oltp/database/database.h"

namespace plimsoll {

// `?` outside of quotes and comments becomes `$1`, `$2`, …
std::string numbered_parameters(std::string_view sql);

// A script's statements, split at `;` outside of quotes and comments, without the empty ones.
std::vector<std::string> split_statements(std::string_view script);

// True for SELECT, SHOW and VALUES: when its connection is lost, nothing was changed.
bool only_reads(std::string_view sql);

// An exact decimal as a number: an integer where it has no fraction and fits, else a double.
DbView decimal_value(std::string_view text);

// A value as text; nothing for null.
std::string text_of(const DbView& value);

// A row in the text form that COPY and LOAD DATA read: tabs between values, escapes by backslash.
void append_delimited_row(std::string& out, std::span<const DbView> values);

// SCHEME://[USER[:PASSWORD]@][HOST[:PORT]]/DATABASE[?name=value&…], percent-decoded.
struct ConnectionUrl {
  std::string user;
  std::string password;
  std::string host;
  unsigned port = 0;  // 0: not given
  std::string database;
  std::map<std::string, std::string> settings;
};
// Throws UsageError, whose text never holds the password. Where the URL has no password
// (an empty one, USER:@, is one), PLIMSOLL_DB_PASSWORD is taken.
ConnectionUrl parse_connection_url(std::string_view url);
// From the environment; empty when not set.
std::string password_of_environment();

}  // namespace plimsoll
