#include <algorithm>
#include <map>
#include <set>

#include "oltp/database/statements.h"
#include "oltp/workload/sysbench.h"
#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/oltp/fake_session.h"

namespace plimsoll {
namespace {

using fakes::Call;
using fakes::FakeSession;

struct Mix {
  int reads = 0;
  int writes = 0;
  int others = 0;
  bool operator==(const Mix&) const = default;
};

Mix mix_of(const std::vector<Call>& calls) {
  Mix mix;
  for (const Call& call : calls) {
    if (call.sql.starts_with("SELECT")) {
      ++mix.reads;
    } else if (call.sql.starts_with("begin") || call.sql == "commit") {
      ++mix.others;
    } else {
      ++mix.writes;
    }
  }
  return mix;
}

std::vector<Call> run_once(const std::string& name, const SysbenchOptions& options,
                           std::uint64_t seed = 1) {
  FakeSession session;
  const auto workload = make_sysbench(sysbench_row(name), options, "sqlite");
  const auto script = workload->script(session, 0);
  Rng rng(seed);
  CHECK(script->draw(rng) == 0);
  CHECK(script->run() == Outcome::kOk);
  return session.calls;
}

bool is_digit_groups(const std::string& text, std::size_t groups) {
  if (text.size() != groups * 12 - 1) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 12 == 11 ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  }
  return true;
}

}  // namespace

TEST_CASE("each workload has sysbench's statements in number and kind") {
  const std::map<std::string, Mix> expected = {
      {"oltp_read_write", {14, 4, 2}},  {"oltp_read_only", {14, 0, 2}},
      {"oltp_write_only", {0, 4, 2}},   {"oltp_point_select", {1, 0, 0}},
      {"oltp_update_index", {0, 1, 0}}, {"oltp_update_non_index", {0, 1, 0}},
      {"oltp_delete", {0, 1, 0}},       {"oltp_insert", {0, 1, 0}}};
  CHECK(sysbench_rows().size() == expected.size());
  for (const auto& [name, mix] : expected) {
    INFO(name);
    CHECK(mix_of(run_once(name, {})) == mix);
  }
}

TEST_CASE("only oltp_read_only begins without the intent to write") {
  for (const SysbenchRow& row : sysbench_rows()) {
    if (!row.transaction) continue;
    const auto calls = run_once(std::string(row.name), {});
    CHECK(calls.front().sql ==
          (row.name == "oltp_read_only" ? "begin read-only" : "begin read-write"));
    CHECK(calls.back().sql == "commit");
  }
}

TEST_CASE("a group's statements go to one table, groups to tables of their own") {
  SysbenchOptions options;
  options.tables = 10;
  std::set<std::string> groups;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto calls = run_once("oltp_read_write", options, seed);
    for (std::size_t i = 2; i <= 10; ++i) CHECK(calls[i].sql == calls[1].sql);
    groups.insert(calls[1].sql);
  }
  CHECK(groups.size() > 5);
}

TEST_CASE("the row that is deleted is inserted again, with drawn contents") {
  const auto calls = run_once("oltp_write_only", {});
  const Call& removed = calls[3];
  const Call& inserted = calls[4];
  CHECK(removed.sql.starts_with("DELETE"));
  REQUIRE(inserted.parameters.size() == 4);
  CHECK(inserted.parameters[0] == removed.parameters[0]);
  CHECK(is_digit_groups(std::get<std::string>(inserted.parameters[2]), 10));
  CHECK(is_digit_groups(std::get<std::string>(inserted.parameters[3]), 5));
}

TEST_CASE("a range holds range_size rows") {
  SysbenchOptions options;
  options.range_size = 7;
  const auto calls = run_once("oltp_read_only", options);
  for (std::size_t i = 11; i <= 14; ++i) {
    const auto first = std::get<std::int64_t>(calls[i].parameters[0]);
    CHECK(std::get<std::int64_t>(calls[i].parameters[1]) == first + 6);
  }
}

TEST_CASE("the same seed draws the same transactions, another seed others") {
  CHECK(run_once("oltp_read_write", {}, 5) == run_once("oltp_read_write", {}, 5));
  CHECK(run_once("oltp_read_write", {}, 5) != run_once("oltp_read_write", {}, 6));
}

TEST_CASE("running again uses the same input, drawing again another") {
  FakeSession session;
  const auto workload = make_sysbench(sysbench_row("oltp_read_write"), {}, "sqlite");
  const auto script = workload->script(session, 0);
  Rng rng(1);
  const auto run = [&] {
    session.calls.clear();
    script->run();
    return session.calls;
  };
  script->draw(rng);
  const auto first = run();
  CHECK(run() == first);
  script->draw(rng);
  CHECK(run() != first);
}

TEST_CASE("a transaction ends at its first statement that fails") {
  FakeSession session;
  const auto workload = make_sysbench(sysbench_row("oltp_write_only"), {}, "sqlite");
  const auto script = workload->script(session, 0);
  Rng rng(1);
  script->draw(rng);
  session.decide = [](std::size_t call) { return call == 2 ? Outcome::kRetryable : Outcome::kOk; };
  CHECK(script->run() == Outcome::kRetryable);
  CHECK(session.calls.size() == 3);
}

TEST_CASE("a key that another inserted between delete and insert is a conflict to retry") {
  const auto outcome_of = [](const char* name, bool duplicate_key) {
    FakeSession session;
    session.duplicate_key = duplicate_key;
    session.decide = [](std::size_t) { return Outcome::kFailed; };
    const auto workload = make_sysbench(sysbench_row(name), {}, "sqlite");
    const auto script = workload->script(session, 0);
    Rng rng(1);
    script->draw(rng);
    return script->run();
  };
  CHECK(outcome_of("oltp_write_only", true) == Outcome::kRetryable);
  CHECK(outcome_of("oltp_write_only", false) == Outcome::kFailed);
  CHECK(outcome_of("oltp_insert", true) == Outcome::kFailed);
}

TEST_CASE("every statement of the schema is used, and every one used is there") {
  std::set<std::string> used = {"create_table", "create_index", "drop_table"};
  for (const SysbenchRow& row : sysbench_rows()) {
    for (const SysbenchStep& step : row.steps) used.insert(std::string(step.statement));
  }
  std::set<std::string> present;
  const Statements statements = Statements::load("sysbench", "sqlite");
  for (const auto& [name, sql] : statements.all()) {
    present.insert(name);
  }
  CHECK(present == used);
}

TEST_CASE("an unknown workload is told the names there are") {
  CHECK_THROWS_WITH(sysbench_row("oltp_readwrite"), ContainsSubstring("oltp_read_write"));
}

TEST_CASE("options out of range name their range") {
  const auto check = [](SysbenchOptions options, const std::string& name) {
    CHECK_THROWS_WITH(check_options(options), ContainsSubstring(name));
  };
  check({.tables = 0}, "--tables");
  check({.table_size = 0}, "--table-size");
  check({.table_size = 1LL << 40}, "--table-size");
  check({.range_size = 0}, "--range-size");
}

}  // namespace plimsoll
