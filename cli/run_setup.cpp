#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "cli/command.h"
#include "results/base/units.h"
#include "results/record/environment.h"
#include "results/record/redact.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

// An empty record takes less than half of it.
constexpr std::uint64_t kRecordSpace_bytes = kMiB;

// The words of the command without the program's: "oltp run".
std::string command_words(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) return {};
  const std::string before = command_words(*parent);
  return before.empty() ? command.get_name() : before + " " + command.get_name();
}

Json typed_value(const std::string& text) {
  const Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : Json(redact(text));
}

Json option_value(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return option.count() > 0;
  std::vector<std::string> values = option.reduced_results();
  if (option.count() == 0) {
    if (option.get_default_str().empty()) return nullptr;
    if (option.get_default_str() == "[]") return Json::array();  // a list that was not given
    values = {option.get_default_str()};
  }
  if (values.size() == 1 && option.get_expected_max() == 1) return typed_value(values.front());
  Json list = Json::array();
  for (const std::string& value : values) list.push_back(typed_value(value));
  return list;
}

// Asked first: a record that can't even be begun leaves nothing to read.
void require_record_space(const fs::path& dir) {
  std::error_code ignored;
  fs::path existing = fs::absolute(dir);
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  struct statvfs space {};
  if (::statvfs(existing.c_str(), &space) != 0 || (space.f_flag & ST_RDONLY) != 0) return;
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  if (free_bytes >= kRecordSpace_bytes) return;
  throw RefusedError(
      fmt::format("{} has {} free, too little for the record of a run: free some there, or give "
                  "--out a folder on another drive",
                  existing.string(), format_size(free_bytes)));
}

}  // namespace

RunSpec make_spec(const CLI::App& command, const CommandContext& context,
                  const CommonOptions& options, const std::string& target) {
  RunSpec spec;
  spec.command = command_words(command);
  spec.target = redact(target);
  spec.argv = context.argv;
  spec.seed = options.seed;
  for (const CLI::Option* option : command.get_options()) {
    if (option == command.get_help_ptr() || option->get_single_name() == "config") continue;
    spec.options[option->get_single_name()] = option_value(*option);
  }
  return spec;
}

Record create_record(const RunSpec& spec, const CommonOptions& options, const std::string& drive) {
  require_record_space(options.out.empty() ? fs::path("results") / "runs" : options.out);
  const auto dir = options.out.empty() ? default_run_dir(spec.command, drive) : options.out;
  Record record = Record::create(dir, spec);
  record.set_environment("machine", capture_machine());
  record.commit();
  return record;
}

}  // namespace plimsoll::cli
