// Wrong usage and refusals: one line with the mend, the right exit code, and no record.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/program.h"
#include "tests/catch.h"
#include "tests/cli/folders.h"
#include "tests/lab/process.h"

namespace plimsoll {
namespace {
namespace fs = std::filesystem;

// `words` name the mend; no record may be there afterwards.
void check_one_line(std::vector<std::string> arguments, int exit_code, const std::string& words) {
  const Folders folders;
  std::string command;
  for (const auto& argument : arguments) command += argument + " ";
  INFO(command);
  arguments.insert(arguments.begin(), PLIMSOLL_BINARY);
  arguments.insert(arguments.end(), {"--out", folders.out()});
  const auto result = lab::run_process(arguments);
  INFO(result.err);
  CHECK_FALSE(result.timed_out);
  CHECK(result.exit_code == exit_code);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK_THAT(result.err, ContainsSubstring(words));
  CHECK(result.err.size() < 400);
  CHECK_FALSE(fs::exists(folders.out()));
}

TEST_CASE("usage: qualify takes no engine without a drive, nor one of a single request") {
  const lab::TempDir drive;
  check_one_line({"qualify", drive.path(), "--engine", "null"}, 2, "no drive's; there are: ");
  check_one_line({"qualify", drive.path(), "--engine", "psync"}, 2, "many requests in flight");
  check_one_line({"qualify", drive.path(), "--engine", "frob"}, 2, "frob is no engine");
}

TEST_CASE("usage: what qualify can refuse it refuses before there is a record") {
  const lab::TempDir drive;
  const auto check = [&](const std::string& option, const std::string& value, int exit_code,
                         const std::string& words) {
    check_one_line({"qualify", drive.path(), option, value}, exit_code, words);
  };
  check("--size", "900t", 3, "lower --size");
  check("--size", "1000", 2, "multiple");
  check("--table-size", "99999999999", 2, "whole number from 1 to 2147483647");
  check("--table-size", "2147483647", 3, "load less with --tables or --table-size");
  check("--tables", "10001", 2, "whole number from 1 to 10000");
  check("--threads", "9999999", 2, "--threads: 9999999 is out of range");
  check("--threads", "0", 2, "whole number from 1 to 10000");
}

TEST_CASE("usage: 0 isn't taken for the default") {
  const lab::TempDir drive;
  const std::string dir = drive.path();
  for (const char* option : {"--time", "--size", "--bytes", "--bs", "--interval", "--stride"}) {
    check_one_line({"raw", dir, option, "0"}, 2, "0 is nothing; give more, such as ");
  }
  check_one_line({"raw", dir, "--depth", "0"}, 2, "--depth: 0 is out of range");
  check_one_line({"raw", dir, "--jobs", "-1"}, 2, "--jobs: -1 is out of range");
  check_one_line({"qualify", dir, "--size", "0"}, 2, "--size: 0 is nothing");
  check_one_line({"qualify", dir, "--raw-time", "0s"}, 2, "--raw-time: 0s is nothing");
  check_one_line({"commit", dir, "--committers", "1,0"}, 2, "from 1 to 1024");
  const std::vector<std::string> run = {"oltp", "run", "oltp_read_only", "--place", dir};
  for (const auto& [option, value] : {std::pair{"--table-size", "0"},
                                      {"--tables", "0"},
                                      {"--threads", "0"},
                                      {"--retries", "-1"}}) {
    auto arguments = run;
    arguments.insert(arguments.end(), {option, value});
    check_one_line(arguments, 2, "is out of range; give a whole number from ");
  }
}

TEST_CASE("usage: a seed that is no 64-bit number doesn't become another") {
  for (const char* seed : {"-1", "99999999999999999999", "0x10", "1.5", "x"}) {
    check_one_line({"raw", "/nowhere/at/all", "--seed", seed}, 2,
                   "give a whole number from 0 to 18446744073709551615");
  }
  check_one_line({"raw", "/nowhere/at/all", "--seed", "18446744073709551615"}, 2, "/nowhere");
}

TEST_CASE("usage: a mistyped device is no such device, and no file is made in /dev") {
  const std::string node = "/dev/plimsoll-none";
  check_one_line({"raw", node}, 2, "no such device");
  check_one_line({"raw", node, "--rw", "write", "--erase"}, 2, "no such device");
  check_one_line({"raw", node, "--keep", "--accept", "no-direct-io"}, 2, "no such device");
  check_one_line({"commit", node, "--erase"}, 2, "no such device");
  check_one_line({"qualify", node, "--erase"}, 2, "No such file");
  CHECK_FALSE(fs::exists(node));
}

TEST_CASE("usage: too little space is refused with 3 by every command") {
  const auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::Ext4Mount mount(loop->node());
  const std::string dir = mount.path();
  check_one_line({"raw", dir, "--size", "900m"}, 3, "lower --size");
  check_one_line({"commit", dir, "--size", "900m"}, 3, "lower --size");
  check_one_line({"qualify", dir, "--size", "900m"}, 3, "lower --size");
  check_one_line({"oltp", "run", "oltp_read_write", "--place", dir, "--table-size", "10000000"}, 3,
                 "--table-size");
}

TEST_CASE("usage: a read-only folder is refused with 3 by every command") {
  const auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::Ext4Mount mount(loop->node(), "ro");
  const std::string dir = mount.path();
  check_one_line({"raw", dir}, 3, "read-only");
  check_one_line({"qualify", dir}, 3, "Read-only");
  check_one_line({"oltp", "run", "oltp_read_write", "--place", dir}, 3, "Read-only");
}

TEST_CASE("usage: a results drive that is full is refused before there is half a record") {
  const auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::Ext4Mount mount(loop->node());
  const lab::TempDir drive;
  struct statvfs space {};
  REQUIRE(::statvfs(mount.path().c_str(), &space) == 0);
  const int file = ::open((mount.path() / "full").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const auto free_bytes = static_cast<off_t>(space.f_bavail * space.f_frsize);
  REQUIRE(::posix_fallocate(file, 0, free_bytes - (256 << 10)) == 0);
  ::close(file);
  const auto out = mount.path() / "a";
  const auto result = lab::run_process(
      {PLIMSOLL_BINARY, "raw", drive.path(), "--size", "4m", "--time", "100ms", "--out", out});
  INFO(result.err);
  CHECK(result.exit_code == 3);
  CHECK_THAT(result.err, ContainsSubstring("give --out a folder on another drive"));
  CHECK(result.err.find("plimsoll show") == std::string::npos);
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("usage: an offset that is wrong is what the mend names") {
  const lab::TempDir drive;
  const std::string dir = drive.path();
  check_one_line({"raw", dir, "--offset", "900t", "--size", "16m"}, 3, "lower --offset");
  check_one_line({"raw", dir, "--offset", "1000", "--size", "16m"}, 2, "--offset 1000");
  const auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  check_one_line({"raw", loop->node(), "--rw", "read", "--offset", "1t"}, 2,
                 "lies beyond " + loop->node());
  check_one_line({"raw", loop->node(), "--size", "1t"}, 2, "lower --size\n");
}

TEST_CASE("usage: one is one job, and a rate is written out") {
  const lab::TempDir drive;
  check_one_line({"raw", drive.path(), "--size", "4m", "--rate", "3000000/s"}, 2,
                 "3,000,000/s over 1 job: ");
}

TEST_CASE("usage: a run without tables says to load the workload that was asked") {
  const lab::TempDir dir;
  check_one_line(
      {"oltp", "run", "oltp_write_only", "--db", "sqlite:" + (dir.path() / "none.db").string()}, 2,
      "plimsoll oltp load oltp_write_only");
}

TEST_CASE("usage: README's sentence on the options of commands is true") {
  CLI::App app;
  cli::CommandContext context;
  cli::declare_program(app, context);
  CLI::App* oltp = app.get_subcommand("oltp");
  for (CLI::App* command :
       {app.get_subcommand("qualify"), app.get_subcommand("raw"), app.get_subcommand("commit"),
        app.get_subcommand("observe"), oltp->get_subcommand("load"), oltp->get_subcommand("run")}) {
    INFO(command->get_name());
    for (const char* option : {"--json", "--out", "--config", "--seed", "--quiet"}) {
      CHECK(command->get_option_no_throw(option) != nullptr);
    }
  }
  for (const char* command : {"devices", "doctor", "show"}) {
    CHECK(app.get_subcommand(command)->get_option_no_throw("--json") != nullptr);
  }
}

}  // namespace
}  // namespace plimsoll
