#include "oltp/database/sql_text.h"

#include <cstdlib>

#include "results/base/error.h"
#include "tests/catch.h"

namespace plimsoll {
namespace {

TEST_CASE("question marks become numbers, except in quotes and comments") {
  CHECK(numbered_parameters("SELECT ?, ?") == "SELECT $1, $2");
  CHECK(numbered_parameters("a = '?' AND b = ? -- ?\n AND c = ?") ==
        "a = '?' AND b = $1 -- ?\n AND c = $2");
  CHECK(numbered_parameters("'it''s ?' || ? /* ? */ || \"?\"") ==
        "'it''s ?' || $1 /* ? */ || \"?\"");
  CHECK(numbered_parameters("unclosed '?") == "unclosed '?");
}

TEST_CASE("a script is split at semicolons, except in quotes and comments") {
  CHECK(split_statements("a; b ;\n;") == std::vector<std::string>{"a", " b "});
  CHECK(split_statements("INSERT ';' -- ;\n; c").size() == 2);
  CHECK(split_statements(" \n ").empty());
}

TEST_CASE("only what can't write is known as reading") {
  CHECK(only_reads("  select 1"));
  CHECK_FALSE(only_reads("UPDATE t SET i = 1"));
  CHECK_FALSE(only_reads("WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone"));
  CHECK_FALSE(only_reads(""));
}

TEST_CASE("exact decimals are integers where they have no fraction") {
  CHECK(decimal_value("12") == DbView(std::int64_t{12}));
  CHECK(decimal_value("-0.25") == DbView(-0.25));
  CHECK(decimal_value("92233720368547758070") == DbView(92233720368547758070.0));
}

TEST_CASE("a row for COPY and LOAD DATA escapes what would end a value") {
  std::string out;
  const std::vector<DbView> row = {std::int64_t{-7}, std::monostate{}, 0.5,
                                   std::string_view("a\tb\\c\nd\0e", 9)};
  append_delimited_row(out, row);
  CHECK(out == "-7\t\\N\t0.5\ta\\tb\\\\c\\nd\\0e\n");
}

TEST_CASE("a connection URL is taken apart, percent-decoded") {
  ::unsetenv("PLIMSOLL_DB_PASSWORD");
  const auto url = parse_connection_url("mysql://u%40x:p@ss%2F@db.example:3307/shop?a=1&b=%2Ftmp");
  CHECK(url.user == "u@x");
  CHECK(url.password == "p@ss/");
  CHECK(url.host == "db.example");
  CHECK(url.port == 3307);
  CHECK(url.database == "shop");
  CHECK(url.settings == std::map<std::string, std::string>{{"a", "1"}, {"b", "/tmp"}});
  const auto six = parse_connection_url("mysql://[::1]:3306/x");
  CHECK(six.host == "::1");
  CHECK(six.port == 3306);
  CHECK(parse_connection_url("mysql:///x").host.empty());
}

TEST_CASE("the password of the environment is taken where the URL has none") {
  ::setenv("PLIMSOLL_DB_PASSWORD", "geheim", 1);
  CHECK(parse_connection_url("mysql://u@h/x").password == "geheim");
  CHECK(parse_connection_url("mysql://u:other@h/x").password == "other");
  CHECK(parse_connection_url("mysql://u:@h/x").password.empty());
  ::unsetenv("PLIMSOLL_DB_PASSWORD");
}

TEST_CASE("a bad connection URL is refused without showing its password") {
  for (const char* text :
       {"mysql:u:secret@h", "mysql://u:secret@h:99999999/x", "mysql://u:secret@h:port/x"}) {
    try {
      parse_connection_url(text);
      FAIL(text);
    } catch (const UsageError& error) {
      CHECK(std::string(error.what()).find("secret") == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace plimsoll
