#include <fmt/format.h>

#include <algorithm>

#include "cli/program.h"

namespace plimsoll::cli {
namespace {

bool names_option(const std::string& word, const std::string& option) {
  return word == option || word.starts_with(option + "=");
}

bool was_typed(const CLI::Option* option, const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& word) {
    for (const std::string& name : option->get_lnames()) {
      if (names_option(word, "--" + name)) return true;
    }
    for (const std::string& name : option->get_snames()) {
      if (word.starts_with("-" + name)) return true;
    }
    return false;
  });
}

CLI::App* find_subcommand(CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](CLI::App* sub) { return sub->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

std::string config_path(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--config=")) return arguments[i].substr(9);
    if (arguments[i] == "--config" && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return {};
}

std::vector<CLI::ConfigItem> read_config(const std::string& path) {
  try {
    return CLI::ConfigTOML().from_file(path);
  } catch (const CLI::Error&) {
    throw UsageError(
        fmt::format("--config: can't read {}; give a TOML file of option = value", path));
  }
}

const CLI::Option* option_of(CLI::App& command, const CLI::ConfigItem& item,
                             const std::string& path) {
  std::string name = "--" + item.name;
  std::replace(name.begin(), name.end(), '_', '-');
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option != nullptr && item.parents.empty()) return option;
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& long_name : known->get_lnames()) names.push_back(long_name);
  }
  const std::string meant = nearest(item.name, names);
  throw UsageError(
      fmt::format("{}: no option is called {}{}; `{} --help` lists them", path, item.fullname(),
                  meant.empty() ? "" : ", did you mean " + meant + "?", full_name(&command)));
}

void append_option(const CLI::Option* option, const CLI::ConfigItem& item, const std::string& path,
                   std::vector<std::string>& into) {
  const std::string name = "--" + option->get_lnames().front();
  const bool is_flag = option->get_expected_max() == 0;
  // "--depth=" would take the next word of the command line for its value.
  const bool lacks_value =
      item.inputs.empty() || std::any_of(item.inputs.begin(), item.inputs.end(),
                                         [](const std::string& value) { return value.empty(); });
  if (lacks_value) {
    throw UsageError(
        fmt::format("{}: {} has no value: give it one, or take the line out", path, item.name));
  }
  for (const std::string& value : item.inputs) {
    if (!is_flag) {
      into.push_back(name + "=" + value);
    } else if (value == "true") {
      into.push_back(name);
    } else if (value != "false") {
      throw UsageError(fmt::format("{}: {} is true or false, not {}", path, item.name, value));
    }
  }
}

}  // namespace

std::vector<std::string> with_config(CLI::App& app, const std::vector<std::string>& arguments,
                                     ConfigOrigin* origin) {
  const std::string path = config_path(arguments);
  if (path.empty()) return arguments;
  CLI::App* command = &app;
  auto end_of_name = arguments.begin();
  for (; end_of_name != arguments.end(); ++end_of_name) {
    CLI::App* sub = find_subcommand(*command, *end_of_name);
    if (sub == nullptr) break;
    command = sub;
  }
  std::vector<std::string> all(arguments.begin(), end_of_name);
  for (const CLI::ConfigItem& item : read_config(path)) {
    if (item.name == "++" || item.name == "--") continue;  // a section's begin and end
    const CLI::Option* option = option_of(*command, item, path);
    if (was_typed(option, arguments)) continue;
    append_option(option, item, path, all);
    if (origin != nullptr) origin->options.push_back("--" + option->get_lnames().front());
  }
  if (origin != nullptr) origin->path = path;
  all.insert(all.end(), end_of_name, arguments.end());
  return all;
}

}  // namespace plimsoll::cli
