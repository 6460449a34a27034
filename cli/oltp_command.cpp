#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/observation.h"
#include "cli/oltp_place.h"
#include "cli/target_warnings.h"
#include "oltp/workload/sysbench_load.h"
#include "results/base/units.h"
#include "results/report/text_sysbench.h"

namespace plimsoll::cli {
namespace {

constexpr std::int64_t kMostTables = 10'000;
constexpr std::int64_t kMostThreads = 10'000;
constexpr std::int64_t kMostRetries = 1'000'000;

struct OltpOptions {
  CommonOptions common;
  OltpPlaceOptions place;
  std::string workload;
  int tables = 0;               // 0: as loaded, or the default of a load
  std::int64_t table_size = 0;  // the same
  std::int64_t range_size = 100;
  std::string random = "uniform";
  bool scrambled = false;
  int threads = 1;
  std::int64_t time_ns = 10'000'000'000;
  std::int64_t warmup_ns = 0;
  std::int64_t interval_ns = 1'000'000'000;
  double rate_per_s = 0;  // 0: closed loop
  std::string arrivals = "poisson";
  int retries = 10;
  bool pipeline = false;
  std::string on_outage = "continue";
  std::string report = "plimsoll";
  double percentile = 95;
};

SysbenchOptions data_options(const OltpOptions& options) {
  SysbenchOptions data;
  data.tables = options.tables;
  data.table_size = options.table_size;
  data.range_size = options.range_size;
  data.random = parse_random_kind(options.random);
  data.scrambled = options.scrambled;
  data.pipeline = options.pipeline;
  data.seed = options.common.seed;
  return data;
}

SysbenchOptions with_load_defaults(SysbenchOptions data) {
  const SysbenchOptions defaults;
  if (data.tables == 0) data.tables = defaults.tables;
  if (data.table_size == 0) data.table_size = defaults.table_size;
  return data;
}

OltpPlaceOptions place_options(const OltpOptions& options) {
  OltpPlaceOptions place = options.place;
  place.accept_unbounded = options.common.accepts("unbounded-memory");
  place.sessions = options.threads;
  return place;
}

OltpSpec run_spec(const OltpOptions& options) {
  OltpSpec spec;
  spec.threads = options.threads;
  spec.time_ns = options.time_ns;
  spec.warmup_ns = options.warmup_ns;
  spec.interval_ns = options.interval_ns;
  if (options.rate_per_s > 0) spec.rate_per_s = options.rate_per_s;
  spec.arrivals = options.arrivals == "constant" ? ArrivalKind::kConstant : ArrivalKind::kPoisson;
  spec.retry.limit = options.retries;
  if (options.on_outage == "end") spec.on_outage = OnOutage::kEnd;
  spec.seed = options.common.seed;
  return spec;
}

// What the database's own settings would make of the numbers: refused unless accepted by name.
std::vector<Warning> check_settings(Database& database, const CommonOptions& common) {
  std::vector<Warning> accepted;
  for (const PreflightFinding& finding : database.preflight()) {
    if (finding.refuses && !common.accepts(finding.warning.id)) {
      throw RefusedError(finding.warning.text, finding.warning.id);
    }
    accepted.push_back(finding.warning);
  }
  return accepted;
}

void describe(Record& record, const DeviceStack& stack) {
  describe_target(record, stack);
  if (stack.levels.empty()) {
    record.warn(
        {"tmpfs",
         fmt::format("{} lies on no drive of this machine{}", stack.path,
                     stack.file_system ? ": its file system is " + stack.file_system->type : "")});
  }
}

void load(OltpPlace& place, const SysbenchOptions& data, const OltpOptions& options, Record& record,
          const CommandContext& context) {
  const LoadHooks hooks{make_progress(options.common), context.interrupt->token()};
  const LoadResult result = load_sysbench(place.database(), data, record, "load", hooks);
  if (!result.interrupted) return;
  throw Error(ExitCode::kInterrupted,
              fmt::format("the load was stopped after {} rows; {}", format_thousands(result.rows),
                          place.is_kept() ? "`plimsoll oltp load` with the same options resumes it"
                                          : "what it had loaded is removed"));
}

ExitCode run_load(OltpOptions& options, const CLI::App& command, const CommandContext& context) {
  sysbench_row(options.workload);
  options.place.keep = true;
  OltpPlace place(place_options(options));
  const SysbenchOptions data = with_load_defaults(data_options(options));
  check_load(place.database(), data);
  Record record = create_record(make_spec(command, context, options.common, place.url()),
                                options.common, drive_label(place.stack()));
  return conclude(record, options.common, Output::kSummary, [&] {
    describe(record, place.stack());
    load(place, data, options, record, context);
    place.describe(record);
  });
}

// Empty: Plimsoll's own.
Printer report_printer(const OltpOptions& options) {
  if (options.report != "sysbench") return {};
  if (options.common.json) throw UsageError("--json and --report sysbench: choose one");
  return [percentile = options.percentile](const Record& record) {
    fmt::print("{}", render_sysbench(record, percentile));
  };
}

void measure(OltpPlace& place, const SysbenchOptions& data, const OltpOptions& options,
             Record& record, const CommandContext& context) {
  Database& database = place.database();
  for (const Warning& warning : check_settings(database, options.common)) record.warn(warning);
  place.describe(record);
  warn_if_cached(record, database);
  const auto workload = make_sysbench(sysbench_row(options.workload), data, database.engine());
  Observation observation(record, place.stack());
  const OltpResult result =
      run_oltp(database, *workload, run_spec(options), record, options.workload,
               observation.oltp_hooks(context.interrupt->token(), make_progress(options.common)));
  observation.finish();
  if (result.interrupted) throw Error(ExitCode::kInterrupted, "interrupted");
}

ExitCode run_run(OltpOptions& options, const CLI::App& command, const CommandContext& context) {
  sysbench_row(options.workload);
  check_spec(run_spec(options));
  const Printer print = report_printer(options);
  OltpPlace place(place_options(options));
  SysbenchOptions data = data_options(options);
  if (place.is_new()) {
    data = with_load_defaults(data);
    check_load(place.database(), data);
  } else {
    data = match_loaded(place.database(), data, options.workload);
    check_settings(place.database(), options.common);
  }
  check_options(data);
  Record record = create_record(make_spec(command, context, options.common, place.url()),
                                options.common, drive_label(place.stack()));
  const auto load_and_measure = [&] {
    describe(record, place.stack());
    if (place.is_new()) load(place, data, options, record, context);
    measure(place, data, options, record, context);
  };
  return conclude(record, options.common, Output::kSummary, load_and_measure, print);
}

ExitCode run_drop(OltpOptions& options) {
  options.place.keep = true;
  OltpPlace place(place_options(options));
  const int dropped = drop_sysbench(place.database());
  place.reclaim();
  if (options.common.json) {
    fmt::print("{}\n", Json{{"command", "oltp drop"}, {"tables", dropped}}.dump(2));
  } else {
    fmt::print("{}\n", dropped == 0
                           ? std::string("nothing was loaded there")
                           : fmt::format("{} table{} dropped", dropped, dropped == 1 ? "" : "s"));
  }
  return ExitCode::kDone;
}

void add_place_options(CLI::App& command, OltpOptions& options) {
  command
      .add_option("--db", options.place.db,
                  "The database: sqlite:PATH, postgresql://…, mysql://… or sqlserver:…; with "
                  "--place the engine: sqlite, postgresql, mariadb or mysql")
      ->type_name("URL");
  command
      .add_option("--place", options.place.dir, "A folder of the drive to put the database into")
      ->type_name("DIR");
  size_option(command, "--memory", options.place.memory_bytes,
              "With --place: hold the database and its page cache to it");
}

void add_data_options(CLI::App& command, OltpOptions& options, const std::string& otherwise) {
  std::string names;
  for (const SysbenchRow& row : sysbench_rows()) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", row.name, row.description);
  }
  command.add_option("WORKLOAD", options.workload, names)->required()->type_name("");
  command.add_option("--tables", options.tables, "Number of tables" + otherwise)
      ->type_name("N")
      ->default_str("")
      ->check(whole_number(1, kMostTables));
  command.add_option("--table-size", options.table_size, "Rows a table" + otherwise)
      ->type_name("N")
      ->default_str("")
      ->check(whole_number(1, INT32_MAX));
}

void add_draw_options(CLI::App& command, OltpOptions& options) {
  command.add_option("--range-size", options.range_size, "Rows of a range select")
      ->type_name("N")
      ->check(whole_number(1, INT32_MAX));
  std::vector<std::string> kinds(random_kind_names().begin(), random_kind_names().end());
  command.add_option("--rand-type", options.random, "How rows are chosen")
      ->check(CLI::IsMember(kinds));
  command.add_flag("--rand-scrambled", options.scrambled,
                   "Spread the hot rows over the whole table");
}

void add_run_options(CLI::App& command, OltpOptions& options) {
  command.add_option("--threads", options.threads, "Terminals, each with a session of its own")
      ->type_name("N")
      ->check(whole_number(1, kMostThreads));
  duration_option(command, "--time", options.time_ns, "Length of the measured part");
  duration_option(command, "--warmup", options.warmup_ns, "Before it, not measured",
                  Zero::kAllowed);
  rate_option(command, "--rate", options.rate_per_s,
              "Transactions a second in all, an open loop; without: each as fast as it can");
  command.add_option("--arrivals", options.arrivals, "With --rate: how they come")
      ->check(CLI::IsMember({"poisson", "constant"}));
  duration_option(command, "--report-interval", options.interval_ns, "One row of the record");
  command
      .add_option("--retries", options.retries, "Repeats of a transaction, e.g. after a deadlock")
      ->type_name("N")
      ->check(whole_number(0, kMostRetries));
  command.add_flag("--pipeline", options.pipeline,
                   "Send a transaction in one round trip (PostgreSQL)");
  command.add_option("--on-outage", options.on_outage, "When the database goes away")
      ->check(CLI::IsMember({"continue", "end"}));
  command
      .add_option("--report", options.report, "What is printed: Plimsoll's summary or sysbench's")
      ->check(CLI::IsMember({"plimsoll", "sysbench"}));
  command.add_option("--percentile", options.percentile, "The one that sysbench's report has")
      ->type_name("N")
      ->check(CLI::Range(0.0, 100.0));
  command.add_flag("--keep", options.place.keep, "With --place: leave the database there");
}

using Action = ExitCode (*)(OltpOptions&, const CLI::App&, const CommandContext&);

void set_action(CLI::App& command, std::shared_ptr<OltpOptions> options, CommandContext& context,
                Action action) {
  add_common_options(command, options->common);
  command.callback([options, &command, &context, action] {
    context.run = [options, &command, &context, action] {
      return action(*options, command, context);
    };
  });
}

void setup_load(CLI::App& oltp, CommandContext& context) {
  const auto options = std::make_shared<OltpOptions>();
  CLI::App* command = oltp.add_subcommand("load", "Make and fill the tables of a workload");
  command->footer(
      "A load that was stopped or killed is resumed by the same command.\nExample:\n"
      "  plimsoll oltp load oltp_read_write --db sqlite:/mnt/nvme1/sb.db --tables 4 "
      "--table-size 250000");
  add_place_options(*command, *options);
  add_data_options(*command, *options, " (default: 1 table of 10000)");
  set_action(*command, options, context, run_load);
}

void setup_run(CLI::App& oltp, CommandContext& context) {
  const auto options = std::make_shared<OltpOptions>();
  CLI::App* command = oltp.add_subcommand("run", "Run a workload and measure it");
  command->footer(
      "Examples:\n"
      "  plimsoll oltp run oltp_read_write --db sqlite:/mnt/nvme1/sb.db --threads 8 --time 5m\n"
      "  plimsoll oltp run oltp_write_only --place /mnt/nvme1 --table-size 1000000 --rate 500/s\n"
      "The second loads a database first and removes it afterwards.");
  add_place_options(*command, *options);
  add_data_options(*command, *options, " (default: as loaded)");
  add_draw_options(*command, *options);
  add_run_options(*command, *options);
  set_action(*command, options, context, run_run);
}

void setup_drop(CLI::App& oltp, CommandContext& context) {
  const auto options = std::make_shared<OltpOptions>();
  CLI::App* command = oltp.add_subcommand("drop", "Drop the tables that a load made");
  command->footer("Example:\n  plimsoll oltp drop --db sqlite:/mnt/nvme1/sb.db");
  add_place_options(*command, *options);
  set_action(
      *command, options, context,
      [](OltpOptions& given, const CLI::App&, const CommandContext&) { return run_drop(given); });
}

}  // namespace

void setup_oltp(CLI::App& app, CommandContext& context) {
  CLI::App* oltp = app.add_subcommand("oltp", "Database workloads: load, run, drop");
  oltp->footer(
      "Example:\n"
      "  plimsoll oltp run oltp_read_write --place /mnt/nvme1 --threads 8 --time 1m");
  oltp->require_subcommand(1);
  setup_load(*oltp, context);
  setup_run(*oltp, context);
  setup_drop(*oltp, context);
}

}  // namespace plimsoll::cli
