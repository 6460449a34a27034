#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/open_run.h"

namespace plimsoll::cli {
namespace {

struct ShowOptions {
  std::string run = "latest";
  bool json = false;
};

constexpr const char* kShowExamples =
    "Examples:\n"
    "  plimsoll show                             the newest record in results/runs\n"
    "  plimsoll show results/runs/2026-11-30T14-28-05-raw-vda\n"
    "  plimsoll show /mnt/copy/record.db --json";

ExitCode show(const ShowOptions& options) {
  print_summary(open_run(options.run), options.json);
  return ExitCode::kDone;
}

}  // namespace

void setup_show(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* command = app.add_subcommand("show", "Read a record: the summary of a run");
  command->footer(kShowExamples);
  command
      ->add_option("RUN", options->run,
                   "A run's folder, its record.db, or \"latest\": the newest in results/runs")
      ->type_name("");
  command->add_flag("--json", options->json, "The summary as one JSON object");
  command->callback([options, &context] { context.run = [options] { return show(*options); }; });
}

}  // namespace plimsoll::cli
