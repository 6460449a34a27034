#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/open_run.h"

namespace plimsoll::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
};

constexpr const char* kReportExamples =
    "Examples:\n"
    "  plimsoll report results/runs/2026-11-30T14-28-05-qualify-PM9A3\n"
    "  plimsoll report latest";

ExitCode report(const ReportOptions& options) {
  for (const auto& run : options.runs) {
    const Record record = open_run(run);
    fmt::print("{}\n", write_page(record).string());
  }
  return ExitCode::kDone;
}

}  // namespace

void setup_report(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Write report.html beside a record, from the record alone");
  command->footer(kReportExamples);
  command->add_option("RUN", options->runs, "Runs' folders, or \"latest\"")
      ->required()
      ->type_name("");
  command->callback([options, &context] { context.run = [options] { return report(*options); }; });
}

}  // namespace plimsoll::cli
