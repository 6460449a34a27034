#include "results/record/redact.h"

#include "tests/catch.h"

namespace plimsoll {
namespace {

TEST_CASE("redact: the password of a URL goes, all of it") {
  CHECK(redact("postgresql://u:secret@host:5432/db") == "postgresql://u:***@host:5432/db");
  CHECK(redact("mysql://u:p@ss@w@host/db") == "mysql://u:***@host/db");
  CHECK(redact("mysql://u:p/w?x=1@host/db") == "mysql://u:***@host/db");
  CHECK(redact("postgresql://u:a:b@h1,u:c@h2/db") == "postgresql://u:***@h2/db");
  CHECK(redact("mysql://u:p w@host/db") == "mysql://u:***@host/db");
  CHECK(redact("mysql://:p@host") == "mysql://:***@host");
}

TEST_CASE("redact: what holds no password stays as it was") {
  for (const char* text :
       {"postgresql://host:5432/db", "sqlite:/mnt/a:b@c.db", "postgresql://user@host/db",
        "--seed=7", "/mnt/nvme1", "http://[::1]:80/x", "password", "--passwords-file", "", "cwd=/x",
        "a=b;c=d", "postgresql://host/db?sslmode=require&user=me"}) {
    CHECK(redact(text) == text);
  }
}

TEST_CASE("redact: password keys go in URLs, libpq and ODBC strings") {
  CHECK(redact("postgresql://h/db?password=a%20b&user=me") ==
        "postgresql://h/db?password=***&user=me");
  CHECK(redact("postgresql://h/db?user=me&sslpassword=x") ==
        "postgresql://h/db?user=me&sslpassword=***");
  CHECK(redact("postgresql://u:p@h/db?password=q") == "postgresql://u:***@h/db?password=***");
  CHECK(redact("host=h password=secret dbname=x") == "host=h password=*** dbname=x");
  CHECK(redact("host=h password='it''s \\' a=b' dbname=x") == "host=h password=*** dbname=x");
  CHECK(redact("host=h password = a\\ b dbname=x") == "host=h password = *** dbname=x");
  CHECK(redact("password=two words") == "password=***");
  CHECK(redact("sqlserver:Driver=FreeTDS;UID=sa;PWD=a&b c;Database=t") ==
        "sqlserver:Driver=FreeTDS;UID=sa;PWD=***;Database=t");
  CHECK(redact("sqlserver:Server=h;Pwd={a;b}}=c};UID=sa") == "sqlserver:Server=h;Pwd=***;UID=sa");
  CHECK(redact("sqlserver:Server=h;pwd=a;b;UID=sa") == "sqlserver:Server=h;pwd=***;UID=sa");
  CHECK(redact("sqlserver:Server=h;PWD=a@b") == "sqlserver:Server=h;PWD=***");
  CHECK(redact("sqlserver:Server=h;PWD={never closed") == "sqlserver:Server=h;PWD=***");
  CHECK(redact("PLIMSOLL_DB_PASSWORD=x") == "PLIMSOLL_DB_PASSWORD=***");
  CHECK(redact("password=") == "password=");
  CHECK(redact("password=a password=b") == "password=*** password=***");
}

TEST_CASE("redact: on a command line also the word after a password option") {
  const std::vector<std::string> line = {"oltp",    "run",           "--db-password",
                                         "hunter2", "--threads",     "8",
                                         "--db",    "mysql://u:p@h", "--Password=x"};
  CHECK(redact_argv(line) == std::vector<std::string>{"oltp", "run", "--db-password", "***",
                                                      "--threads", "8", "--db", "mysql://u:***@h",
                                                      "--Password=***"});
}

}  // namespace
}  // namespace plimsoll
