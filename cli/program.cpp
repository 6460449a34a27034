#include "cli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "results/base/version.h"
#include "results/record/redact.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kDescription =
    "Plimsoll finds the load line of a drive for databases: what it carries, at which latency, and "
    "why.";
constexpr const char* kProgramExamples =
    "Examples:\n"
    "  plimsoll qualify /mnt/nvme1          the whole job on a directory of the drive\n"
    "  plimsoll show latest                 read the newest record again\n"
    "  plimsoll COMMAND --help              every command explains itself\n\n"
    "Exit codes: 0 done, 1 the verdict is \"fails\", 2 wrong usage, 3 refused, 4 the run broke,\n"
    "130 interrupted; after 1, 4 and 130 all that was measured is in the record.";

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

const CLI::App* deepest(const CLI::App* command) {
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return command;
}

bool has_subcommands(const CLI::App* command) {
  return !command->get_subcommands([](const CLI::App*) { return true; }).empty();
}

std::vector<std::string> option_names(const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

struct Unknown {
  const CLI::App* command = nullptr;  // that didn't know the word
  std::string word;
};

// The first word nobody took, an option before others: a mistyped option leaves its value behind.
Unknown unknown_word(const CLI::App* command) {
  const std::vector<std::string> left = command->remaining();
  const auto option = std::find_if(left.begin(), left.end(), [](const std::string& word) {
    return word.size() > 1 && word.front() == '-';
  });
  if (option != left.end()) return {command, option->substr(0, option->find('='))};
  if (!left.empty()) return {command, left.front()};
  const auto named = command->get_subcommands();
  return named.empty() ? Unknown() : unknown_word(named.back());
}

std::string explain_unknown(const Unknown& unknown) {
  const bool is_option = unknown.word.front() == '-';
  const bool takes_command = has_subcommands(unknown.command);
  const std::string name = full_name(unknown.command);
  std::string meant;
  if (is_option || takes_command) {
    meant = nearest(unknown.word,
                    is_option ? option_names(unknown.command) : subcommand_names(unknown.command));
  }
  return fmt::format("{} {}{}{}; `{} --help` lists what there is",
                     is_option       ? "unknown option"
                     : takes_command ? "unknown command"
                                     : "unexpected",
                     redact(unknown.word), is_option && takes_command ? " before the command" : "",
                     meant.empty() ? "" : ", did you mean " + meant + "?", name);
}

// " (from run.toml)" when the error is about an option that the file gave.
std::string origin_of(const std::string& what, const ConfigOrigin& origin) {
  const bool named =
      std::any_of(origin.options.begin(), origin.options.end(),
                  [&](const auto& name) { return what.find(name) != std::string::npos; });
  return named ? " (from " + origin.path + ")" : "";
}

std::string explain(const CLI::App& app, const CLI::ParseError& error, const ConfigOrigin& origin) {
  if (const Unknown unknown = unknown_word(&app); !unknown.word.empty()) {
    return explain_unknown(unknown);
  }
  const CLI::App* command = deepest(&app);
  const bool lacks_command =
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && has_subcommands(command);
  const std::string what = lacks_command ? "no command given" : error.what();
  return fmt::format("{}{}; see `{} --help`", redact(what), origin_of(what, origin),
                     full_name(command));
}

void complain(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  message = "plimsoll: " + message + "\n";
  std::fwrite(message.data(), 1, message.size(), stderr);  // not fmt::print: it throws
}

ExitCode parse_and_run(CLI::App& app, CommandContext& context, const std::vector<std::string>& args,
                       ConfigOrigin& origin) {
  std::vector<std::string> reversed = with_config(app, args, &origin);
  std::reverse(reversed.begin(), reversed.end());  // CLI11 takes them from the back
  app.parse(std::move(reversed));
  return context.run ? context.run() : ExitCode::kDone;
}

// All but what was lost on standard output.
ExitCode parse_and_explain(const std::vector<std::string>& arguments, Interrupt& interrupt) {
  CommandContext context;
  CLI::App app;
  ConfigOrigin origin;
  try {
    context.interrupt = &interrupt;
    context.argv = redact_argv(arguments);
    context.argv.insert(context.argv.begin(), "plimsoll");
    declare_program(app, context);
    return parse_and_run(app, context, arguments, origin);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return ExitCode::kDone;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    complain(explain(app, error, origin));
    return ExitCode::kUsage;
  } catch (const Error& error) {
    complain(error.what());
    return error.code();
  }
}

}  // namespace

std::string full_name(const CLI::App* command) {
  const CLI::App* parent = command->get_parent();
  return parent == nullptr ? command->get_name() : full_name(parent) + " " + command->get_name();
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

void declare_program(CLI::App& app, CommandContext& context) {
  app.name("plimsoll");
  app.description(kDescription);
  app.footer(kProgramExamples);
  app.set_version_flag("--version", "plimsoll " + version());
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);
  for (const CommandRow& row : command_rows()) row.setup(app, context);
}

ExitCode run_program(const std::vector<std::string>& arguments, Interrupt& interrupt) {
  ExitCode code = ExitCode::kBroke;
  try {
    code = parse_and_explain(arguments, interrupt);
  } catch (const std::exception& error) {
    // fmt::print throws when it can't write: that is said below.
    if (std::ferror(stdout) == 0) complain(fmt::format("broke unexpectedly: {}", error.what()));
  }
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!lost) return code;
  complain(
      "standard output can't be written (is it closed, or its disk full?): what belonged there is "
      "lost; `plimsoll show` prints a record again");
  return code == ExitCode::kDone || code == ExitCode::kFails ? ExitCode::kBroke : code;
}

}  // namespace plimsoll::cli
