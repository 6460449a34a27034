// The program around the sub-commands: parse, run, and turn what goes wrong into one line and an
// exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace plimsoll::cli {

// `arguments` without the program's name. Never throws.
ExitCode run_program(const std::vector<std::string>& arguments, Interrupt& interrupt);

// Declares every sub-command of the table under `app`.
void declare_program(CLI::App& app, CommandContext& context);

// What of `candidates` was most likely meant by `word`; empty when nothing is near.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// "plimsoll oltp run".
std::string full_name(const CLI::App* command);

// What a configuration file gave, so that an error can name it.
struct ConfigOrigin {
  std::string path;
  std::vector<std::string> options;  // "--depth"
};

// `arguments` with the options that `--config FILE.toml` gives put in after the command's name;
// those that were typed win. Throws UsageError naming the file and the key. `origin`, where not
// null, is told what came from the file.
std::vector<std::string> with_config(CLI::App& app, const std::vector<std::string>& arguments,
                                     ConfigOrigin* origin = nullptr);

}  // namespace plimsoll::cli
