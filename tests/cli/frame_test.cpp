#include <algorithm>
#include <memory>

#include "cli/program.h"
#include "tests/catch.h"
#include "tests/lab/process.h"
#include "tests/lab/temp_dir.h"

namespace plimsoll::cli {
namespace {

lab::ProcessResult plimsoll(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PLIMSOLL_BINARY);
  return lab::run_process(arguments);
}

// One line on standard error, nothing on standard output.
void check_refused(const lab::ProcessResult& result, int code, const std::string& part) {
  INFO(result.err);
  CHECK(result.exit_code == code);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("plimsoll: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK_THAT(result.err, ContainsSubstring(part));
}

TEST_CASE("frame: wrong usage is one line that names what was meant") {
  check_refused(plimsoll({}), 2, "no command given; see `plimsoll --help`");
  check_refused(plimsoll({"shwo"}), 2, "unknown command shwo, did you mean show?");
  check_refused(plimsoll({"xyzzy"}), 2, "unknown command xyzzy; `plimsoll --help`");
  check_refused(plimsoll({"show", "--jsno"}), 2, "unknown option --jsno, did you mean --json?");
  check_refused(plimsoll({"show", "--zzz=1"}), 2, "unknown option --zzz; `plimsoll show --help`");
  check_refused(plimsoll({"show", "a", "b"}), 2, "unexpected b");
  check_refused(plimsoll({"--json", "show"}), 2, "unknown option --json before the command");
}

TEST_CASE("frame: a mistyped option that holds a password doesn't print it") {
  const auto result = plimsoll({"show", "a", "mysql://u:hunter2@h/db"});
  check_refused(result, 2, "mysql://u:***@h/db");
}

TEST_CASE("frame: version and help go to standard output") {
  const auto version = plimsoll({"--version"});
  CHECK(version.exit_code == 0);
  CHECK(version.out.starts_with("plimsoll "));
  const auto help = plimsoll({"show", "--help"});
  CHECK(help.exit_code == 0);
  CHECK_THAT(help.out, ContainsSubstring("Examples:") && ContainsSubstring("--json"));
}

void check_help(CLI::App& command) {
  INFO(command.get_name());
  CHECK_FALSE(command.get_description().empty());
  const auto subs = command.get_subcommands([](const CLI::App*) { return true; });
  if (subs.empty()) CHECK_THAT(command.help(), ContainsSubstring("Example"));
  for (CLI::App* sub : command.get_subcommands([](CLI::App*) { return true; })) check_help(*sub);
}

TEST_CASE("frame: every command has a description and an example in its help") {
  CLI::App app;
  CommandContext context;
  declare_program(app, context);
  check_help(app);
}

// A command with the options that all have, and one of each kind.
struct Sample {
  CommonOptions common;
  std::uint64_t block_bytes = 4096;
  std::int64_t runtime_ns = 30'000'000'000;
  double rate_per_s = 0;
  int depth = 1;
  bool keep = false;
  std::string target;
};

struct Parsed {
  CLI::App app;
  CommandContext context;
  Sample sample;
  CLI::App* command = nullptr;

  explicit Parsed(const std::vector<std::string>& words) {
    app.name("plimsoll");
    app.option_defaults()->always_capture_default();
    command = app.add_subcommand("sample", "A sample");
    add_common_options(*command, sample.common);
    size_option(*command, "--block-size,-b", sample.block_bytes, "Block size");
    duration_option(*command, "--runtime", sample.runtime_ns, "How long");
    rate_option(*command, "--rate", sample.rate_per_s, "How often");
    command->add_option("--depth", sample.depth, "In flight");
    command->add_flag("--keep", sample.keep, "Keep the file");
    command->add_option("TARGET", sample.target, "Where")->required();
    std::vector<std::string> all = {"sample"};
    all.insert(all.end(), words.begin(), words.end());
    context.argv = {"plimsoll"};
    context.argv.insert(context.argv.end(), all.begin(), all.end());
    all = with_config(app, all);
    std::reverse(all.begin(), all.end());
    app.parse(std::move(all));
  }
};

TEST_CASE("frame: sizes, durations and rates are read, and an error names the option") {
  const Parsed parsed({"-b", "16k", "--runtime", "5m", "--rate=1.5k/s", "/mnt"});
  CHECK(parsed.sample.block_bytes == 16384);
  CHECK(parsed.sample.runtime_ns == 300'000'000'000);
  CHECK(parsed.sample.rate_per_s == 1500);
  CHECK_THROWS_WITH(Parsed({"--runtime", "5 parsecs", "/mnt"}), ContainsSubstring("--runtime"));
  CHECK_THROWS_WITH(Parsed({"-b", "4x", "/mnt"}),
                    ContainsSubstring("--block-size") && ContainsSubstring("4x"));
}

TEST_CASE("frame: the value of --accept ends before the target") {
  const Parsed parsed({"--accept", "cached,not-durable", "--accept", "buffered", "/mnt"});
  CHECK(parsed.sample.target == "/mnt");
  CHECK(parsed.sample.common.accepts("cached"));
  CHECK(parsed.sample.common.accepts("not-durable"));
  CHECK(parsed.sample.common.accepts("buffered"));
  CHECK_FALSE(parsed.sample.common.accepts("shared-drive"));
  CHECK_THROWS_WITH(Parsed({"--accept", "anything", "/mnt"}), ContainsSubstring("anything"));
}

TEST_CASE("frame: the specification holds every option, defaults included") {
  const Parsed parsed({"/mnt", "--depth", "8", "--keep", "--runtime", "90s", "--accept=cached"});
  const RunSpec spec = make_spec(*parsed.command, parsed.context, parsed.sample.common, "/mnt");
  CHECK(spec.command == "sample");
  CHECK(spec.argv.front() == "plimsoll");
  CHECK(spec.seed == 1);
  CHECK(spec.options["block-size"] == "4k");
  CHECK(spec.options["runtime"] == "90s");
  CHECK(spec.options["rate"].is_null());
  CHECK(spec.options["depth"] == 8);
  CHECK(spec.options["keep"] == true);
  CHECK(spec.options["json"] == false);
  CHECK(spec.options["accept"] == Json::array({"cached"}));
  CHECK(spec.options["TARGET"] == "/mnt");
  CHECK_FALSE(spec.options.contains("help"));
}

TEST_CASE("frame: a configuration file gives what wasn't typed") {
  lab::TempDir temp;
  const auto file = temp.free_path("run.toml");
  lab::write_text(file,
                  "# a run\nblock_size = \"8k\"\nruntime = \"2m\"\ndepth = 16\nkeep = true\n"
                  "accept = [\"cached\", \"buffered\"]\n");
  const Parsed parsed({"--config", file.string(), "/mnt", "--depth", "4"});
  CHECK(parsed.sample.block_bytes == 8192);
  CHECK(parsed.sample.runtime_ns == 120'000'000'000);
  CHECK(parsed.sample.depth == 4);
  CHECK(parsed.sample.keep);
  CHECK(parsed.sample.common.accepts("cached"));
  CHECK(parsed.sample.common.accepts("buffered"));
}

TEST_CASE("frame: a configuration file that is wrong is named with its key") {
  lab::TempDir temp;
  const auto file = temp.free_path("run.toml");
  CHECK_THROWS_WITH(Parsed({"--config", file.string(), "/mnt"}), ContainsSubstring(file.string()));
  lab::write_text(file, "dpeth = 16\n");
  CHECK_THROWS_WITH(Parsed({"--config", file.string(), "/mnt"}),
                    ContainsSubstring("dpeth") && ContainsSubstring("did you mean depth"));
  lab::write_text(file, "keep = 7\n");
  CHECK_THROWS_WITH(Parsed({"--config", file.string(), "/mnt"}), ContainsSubstring("keep"));
}

TEST_CASE("frame: an option without a value in a configuration file doesn't take the target") {
  lab::TempDir temp;
  const auto file = temp.free_path("run.toml");
  for (const char* text : {"depth = \n[[", "depth =", "depth = \"\"\n", "depth = []\n"}) {
    INFO(text);
    lab::write_text(file, text);
    CHECK_THROWS_WITH(Parsed({"--config", file.string(), "/mnt"}),
                      ContainsSubstring(file.string()) && ContainsSubstring("depth"));
  }
}

TEST_CASE("frame: an error about what a configuration file gave names the file and the command") {
  lab::TempDir temp;
  const auto file = temp.free_path("run.toml").string();
  lab::write_text(file, "depth = \"many\"\n");
  check_refused(plimsoll({"raw", "/nowhere", "--config", file}), 2, "(from " + file + ")");
  lab::write_text(file, "jobs = 2\n");
  check_refused(plimsoll({"raw", "/nowhere", "--depth", "x", "--config", file}), 2, "--depth: x");
  lab::write_text(file, "zzzz = 2\n");
  check_refused(plimsoll({"raw", "/nowhere", "--config", file}), 2, "`plimsoll raw --help`");
  check_refused(plimsoll({"oltp", "run", "oltp_read_only", "--config", file}), 2,
                "`plimsoll oltp run --help`");
}

}  // namespace
}  // namespace plimsoll::cli
