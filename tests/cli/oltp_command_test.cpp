// `oltp` as its users call it.
#include <cmath>
#include <regex>
#include <string>

#include "tests/catch.h"
#include "tests/cli/folders.h"
#include "tests/lab/process.h"

namespace plimsoll {
namespace {

lab::ProcessResult oltp_run(const Folders& folders, const std::vector<std::string>& more) {
  std::vector<std::string> command = {PLIMSOLL_BINARY, "oltp",
                                      "run",           "oltp_read_write",
                                      "--place",       folders.drive.path(),
                                      "--table-size",  "1000",
                                      "--time",        "1s",
                                      "--out",         folders.out(),
                                      "--quiet"};
  command.insert(command.end(), more.begin(), more.end());
  return lab::run_process(command);
}

// As scripts around sysbench read it.
double first_number(const std::string& text, const std::string& expression) {
  std::smatch found;
  INFO(expression);
  REQUIRE(std::regex_search(text, found, std::regex(expression)));
  return std::stod(found[1]);
}

TEST_CASE("sysbench's report is what its parsers read, and it adds up") {
  const Folders folders;
  const auto result = oltp_run(folders, {"--report", "sysbench", "--percentile", "99"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  INFO(result.out);
  const auto number = [&](const std::string& expression) {
    return first_number(result.out, expression);
  };
  const double transactions = number(R"(\n    transactions: +(\d+) +\()");
  CHECK(transactions > 10);
  CHECK(number(R"(\n        read: +(\d+)\n)") == transactions * 14);
  CHECK(number(R"(\n        write: +(\d+)\n)") == transactions * 4);
  CHECK(number(R"(\n        other: +(\d+)\n)") == transactions * 2);
  CHECK(number(R"(\n    queries: +(\d+) +\()") == transactions * 20);
  CHECK(number(R"(\n    total number of events: +(\d+)\n)") == transactions);
  const double seconds = number(R"(\n    total time: +([0-9.]+)s\n)");
  const double tps = number(R"(transactions: +\d+ +\(([0-9.]+) per sec\.\))");
  CHECK(std::abs(tps * seconds - transactions) < 1);
  CHECK(number(R"(ignored errors: +(\d+) +\([0-9.]+ per sec\.\))") >= 0);
  CHECK(number(R"(reconnects: +(\d+) +\([0-9.]+ per sec\.\))") == 0);
  const double mean_ms = number(R"(\n         avg: +([0-9.]+)\n)");
  CHECK(number(R"(\n         min: +([0-9.]+)\n)") <= mean_ms);
  CHECK(mean_ms <= number(R"(\n         max: +([0-9.]+)\n)"));
  CHECK(number(R"(\n         99th percentile: +([0-9.]+)\n)") > 0);
  CHECK(std::abs(number(R"(\n         sum: +([0-9.]+)\n)") / transactions - mean_ms) < 0.02);
}

TEST_CASE("one report is printed: sysbench's or the object") {
  const Folders folders;
  const auto result = oltp_run(folders, {"--report", "sysbench", "--json"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, ContainsSubstring("--report sysbench"));
}

}  // namespace
}  // namespace plimsoll
