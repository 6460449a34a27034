// What every sub-command has: an options struct, a set-up that declares it, a run.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "results/base/error.h"
#include "results/base/interrupt.h"
#include "results/base/progress.h"
#include "results/record/record.h"

namespace plimsoll::cli {

// Options that every command takes.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  std::filesystem::path out;  // empty: default_run_dir
  std::uint64_t seed = 1;
  std::vector<std::string> accept;  // names of refusals to accept
  bool accepts(const std::string& name) const;
};

struct CommandContext {
  Interrupt* interrupt = nullptr;
  std::vector<std::string> argv;  // as typed, "plimsoll" first, passwords removed
  std::function<ExitCode()> run;  // set by the sub-command that was named
};

// Declares --json, --out, --seed, --quiet, --accept and --config on a sub-command.
void add_common_options(CLI::App& command, CommonOptions& options);

// Whether 0 is a value like others. Where it stands for "not given" it must not be typed: a run
// with the default would look like one with 0.
enum class Zero { kAllowed, kRefused };

// Sizes, durations and rates as units.h reads them. An error names the option; the variable's value
// at the call is the default that --help shows and the record holds (0 or negative: none).
// Usage: size_option(*command, "--bs", options.block_bytes, "Block size").
CLI::Option* size_option(CLI::App& command, const std::string& name, std::uint64_t& bytes,
                         const std::string& description, Zero zero = Zero::kRefused);
CLI::Option* duration_option(CLI::App& command, const std::string& name, std::int64_t& ns,
                             const std::string& description, Zero zero = Zero::kRefused);
CLI::Option* rate_option(CLI::App& command, const std::string& name, double& per_s,
                         const std::string& description);

// A check for options: whole numbers of that range, both ends included; of a list, each. Its
// message names the range. (CLI11's own takes -1 for a huge number, and prints the limits of the
// type.)
CLI::Validator whole_number(std::int64_t lowest, std::int64_t highest);

// The spec of a run from what was typed: every option of `command` with its value goes in.
RunSpec make_spec(const CLI::App& command, const CommandContext& context,
                  const CommonOptions& options, const std::string& target);

// The run's folder: --out or a new one under results/runs; creates the record there. Throws
// RefusedError when there is no space for one, and as Record::create.
Record create_record(const RunSpec& spec, const CommonOptions& options, const std::string& drive);

// A bar on a terminal, a line each ten seconds elsewhere, nothing with --quiet. Standard error. The
// bar's line is ended when the last copy of the sink goes.
ProgressSink make_progress(const CommonOptions& options);

// One row a sub-command, in commands.cpp; setup declares it under `app` with a footer that holds an
// example, and a callback that stores its run in the context. `context` outlives the run.
struct CommandRow {
  void (*setup)(CLI::App& app, CommandContext& context);
};
const std::vector<CommandRow>& command_rows();

// Each in the file of its name, e.g. raw_command.cpp.
void setup_qualify(CLI::App& app, CommandContext& context);
void setup_devices(CLI::App& app, CommandContext& context);
void setup_doctor(CLI::App& app, CommandContext& context);
void setup_raw(CLI::App& app, CommandContext& context);
void setup_commit(CLI::App& app, CommandContext& context);
void setup_observe(CLI::App& app, CommandContext& context);
void setup_oltp(CLI::App& app, CommandContext& context);
void setup_export(CLI::App& app, CommandContext& context);
void setup_report(CLI::App& app, CommandContext& context);
void setup_show(CLI::App& app, CommandContext& context);

}  // namespace plimsoll::cli
