// Standard output that is full, closed, or copied from.
#include <algorithm>

#include "results/record/record.h"
#include "tests/catch.h"
#include "tests/cli/folders.h"
#include "tests/lab/process.h"
#include "tests/results/record_samples.h"

namespace plimsoll {
namespace {

// A shell redirects; `words` hold nothing that it would take apart.
lab::ProcessResult redirected(const std::string& words, const std::string& where) {
  const std::string command = std::string("exec ") + PLIMSOLL_BINARY + " " + words + " " + where;
  return lab::run_process({"sh", "-c", command});
}

void check_lost(const lab::ProcessResult& result) {
  INFO(result.err);
  CHECK(result.exit_code == 4);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK_THAT(result.err, ContainsSubstring("standard output can't be written"));
  CHECK(result.err.find("unexpectedly") == std::string::npos);
}

TEST_CASE("output: what can't be printed is an error of its own, not a success") {
  const lab::TempDir temp;
  const auto run = (temp.path() / "run").string();
  samples::write(run, 2);
  for (const std::string where : {">/dev/full", ">&-"}) {
    INFO(where);
    check_lost(redirected("show " + run, where));
    check_lost(redirected("show " + run + " --json", where));
    check_lost(redirected("--help", where));
    check_lost(redirected("--version", where));
    check_lost(redirected("report " + run, where));
  }
}

TEST_CASE("output: a run whose summary is lost ends with 4 and keeps its record") {
  for (const std::string where : {">/dev/full", ">&-", "--json >/dev/full", ">&- <&-"}) {
    INFO(where);
    const Folders folders;
    check_lost(redirected("raw " + folders.drive.path().string() +
                              " --size 4m --time 100ms --quiet --out " + folders.out(),
                          where));
    const auto record = Record::open(folders.out());
    CHECK(record.finished());
    CHECK(record.total(record.parts().front(), "raw", "read").count > 0);
  }
}

TEST_CASE("output: a closed or full standard error changes no exit code") {
  for (const std::string where : {"2>&-", "2>/dev/full"}) {
    INFO(where);
    CHECK(redirected("show /nowhere/at/all", where).exit_code == 2);
    CHECK(redirected("--version", where).exit_code == 0);
  }
}

TEST_CASE("output: the command to repeat a run is one line, and so is the record's path") {
  const lab::TempDir temp;
  const auto dir = temp.path() / (std::string(90, 'a') + " b");
  RunSpec spec = samples::spec();
  spec.argv = {"plimsoll", "raw", "/dev/nvme1n1", "--erase"};
  for (int i = 0; i < 20; ++i) spec.argv.insert(spec.argv.end(), {"--think-every", "1"});
  Record::create(dir, spec).finish(1);
  const auto shown = lab::run_process({PLIMSOLL_BINARY, "show", dir.string()});
  std::string command;
  for (const auto& word : spec.argv) command += (command.empty() ? "" : " ") + word;
  CHECK_THAT(shown.out, ContainsSubstring("\nRepeat   " + command + "\n"));
  CHECK_THAT(shown.out, ContainsSubstring("\nRecord   " + dir.string() + "\n"));
}

}  // namespace
}  // namespace plimsoll
