#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "cli/command.h"
#include "cli/open_run.h"
#include "rawio/workload/fio_job.h"
#include "results/report/fio_json.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kExportExamples =
    "Examples:\n"
    "  plimsoll export latest --format fio-json > run.json   for scripts that read fio's JSON\n"
    "  plimsoll export latest --format fio-job --to run.fio  a fio job that repeats the run";

struct ExportOptions {
  std::string run = "latest";
  std::string format = "fio-json";
  std::string to;
};

std::string fio_json(const Record& record) {
  return render_fio_json(record).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<FioExportTarget> targets_of(const Part& part) {
  std::vector<FioExportTarget> targets;
  const auto names = part.facts.value("targets", Json::array());
  const auto sizes = part.facts.value("target_bytes", Json::array());
  const auto folders = part.facts.value("target_folders", Json::array());
  for (std::size_t i = 0; i < names.size(); ++i) {
    FioExportTarget target{names[i], 0, false};
    if (i < sizes.size()) target.size_bytes = sizes[i];
    if (i < folders.size()) target.folder = folders[i];
    targets.push_back(target);
  }
  return targets;
}

// One file of all raw parts, each behind a stonewall.
std::string fio_job(const Record& record) {
  std::string text;
  for (const auto& part : record.parts()) {
    if (part.kind != "raw" || !part.spec.contains("streams")) continue;
    text += (text.empty() ? "" : "\n") + to_fio_job(part.spec, targets_of(part));
  }
  if (text.empty()) throw UsageError(record.dir().string() + " holds no raw run to repeat");
  return text;
}

struct ExportFormat {
  const char* name;
  const char* description;
  std::string (*write)(const Record& record);
};
constexpr ExportFormat kExportFormats[] = {
    {"fio-json", "raw parts as fio's json+", fio_json},
    {"fio-job", "a fio job file that repeats the raw parts", fio_job}};

void write_export(const std::string& text, const std::string& path) {
  if (path.empty()) {
    fmt::print("{}", text);
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw BrokenError("can't write " + path + ": is there space, and may you write there?");
}

ExitCode export_run(const ExportOptions& options) {
  const Record record = open_run(options.run);
  for (const auto& format : kExportFormats) {
    if (options.format == format.name) write_export(format.write(record), options.to);
  }
  return ExitCode::kDone;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto& format : kExportFormats) names.emplace_back(format.name);
  return names;
}

std::string format_descriptions() {
  std::string text = "What to write:";
  for (const auto& format : kExportFormats) {
    text += fmt::format("\n{}: {}", format.name, format.description);
  }
  return text;
}

}  // namespace

void setup_export(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "A record in the format of another tool");
  command->footer(kExportExamples);
  command->add_option("RUN", options->run, "A run's folder, its record.db, or \"latest\"")
      ->type_name("");
  command->add_option("--format", options->format, format_descriptions())
      ->type_name("NAME")
      ->check(CLI::IsMember(format_names()));
  command->add_option("--to", options->to, "A file instead of standard output")->type_name("FILE");
  command->callback(
      [options, &context] { context.run = [options] { return export_run(*options); }; });
}

}  // namespace plimsoll::cli
