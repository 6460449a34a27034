// SQL Server's SQL, parsed by a grammar of Transact-SQL: no SQL Server runs here.
#include <nlohmann/json.hpp>
#include <sstream>

#include "oltp/database/statements.h"
#include "tests/catch.h"
#include "tests/lab/npm.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"

namespace plimsoll {
namespace {

// The grammar's first error in each statement, or "ok".
std::vector<std::string> parse_tsql(const std::vector<std::string>& statements) {
  lab::ProcessOptions options;
  for (const auto& sql : statements) options.input += nlohmann::json(sql).dump() + '\n';
  options.timeout = std::chrono::minutes(2);
  const auto result = lab::run_process({"node", lab::npm_dir() / "tsql.cjs"}, options);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  std::istringstream lines(result.out);
  std::vector<std::string> said;
  for (std::string line; std::getline(lines, line);) said.push_back(line);
  REQUIRE(said.size() == statements.size());
  return said;
}

TEST_CASE("every statement for SQL Server is Transact-SQL to its grammar", "[slow]") {
  if (const std::string problem = lab::npm_problem(); !problem.empty()) return lab::skip(problem);
  std::vector<std::string> statements;
  for (const auto* schema : {"sysbench", "load"}) {
    const Statements dialect = Statements::load(schema, "sqlserver");
    for (const auto& [name, sql] : dialect.all()) statements.push_back(dialect.sql(name, 1));
  }
  const auto said = parse_tsql(statements);
  for (std::size_t i = 0; i < said.size(); ++i) {
    INFO(statements[i]);
    CHECK(said[i] == "ok");
  }
}

TEST_CASE("what only other databases take is refused by Transact-SQL's grammar", "[slow]") {
  if (const std::string problem = lab::npm_problem(); !problem.empty()) return lab::skip(problem);
  const std::string common = Statements::load("load", "sqlite").sql("create_marker");
  for (const auto& words : parse_tsql({common, "SELECT c FROM t LIMIT 1", "SELECT FROM t"}))
    CHECK(words != "ok");
}

}  // namespace
}  // namespace plimsoll
