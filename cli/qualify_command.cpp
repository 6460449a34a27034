#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/conclusion.h"
#include "cli/observation.h"
#include "cli/qualify_place.h"
#include "cli/qualify_plan.h"
#include "cli/target_warnings.h"
#include "oltp/server/placement.h"
#include "oltp/workload/sysbench_load.h"
#include "rawio/engine/io_engine.h"
#include "rawio/workload/target.h"
#include "results/base/units.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kNullEngine = "null";

struct QualifyOptions {
  CommonOptions common;
  std::string target;
  std::string profile = "quick";
  std::string engine = "io_uring";
  std::string db = "sqlite";
  std::uint64_t memory_bytes = 0;  // 0: not given
  // Instead of the profile's; 0: the profile's.
  std::uint64_t file_bytes = 0;
  std::int64_t raw_time_ns = 0;
  std::int64_t time_ns = 0;
  std::int64_t warm_up_ns = -1;  // negative: the profile's
  int tables = 0;
  std::int64_t table_size = 0;
  int threads = 0;
  std::string erase;  // "true": --erase; else what follows --erase=
};

constexpr const char* kQualifyExamples =
    "Examples:\n"
    "  plimsoll qualify /mnt/nvme1                  a first answer in under four minutes\n"
    "  plimsoll qualify /mnt/nvme1 --profile smoke  under a minute\n"
    "  plimsoll qualify /mnt/nvme1 --db postgresql  with a server of its own on the drive\n"
    "  plimsoll qualify /dev/nvme1n1 --erase        a whole drive; all on it is lost";

QualifyProfile chosen_profile(const QualifyOptions& options) {
  QualifyProfile profile = qualify_profile(options.profile);
  if (options.file_bytes > 0) profile.file_bytes = options.file_bytes;
  if (options.raw_time_ns > 0) profile.raw_time_ns = options.raw_time_ns;
  if (options.time_ns > 0) profile.time_ns = options.time_ns;
  if (options.warm_up_ns >= 0) profile.warm_up_ns = options.warm_up_ns;
  if (options.tables > 0) profile.tables = options.tables;
  if (options.table_size > 0) profile.table_size = options.table_size;
  if (options.threads > 0) profile.threads = options.threads;
  return profile;
}

TargetOptions target_options(const QualifyPlace& place, const QualifyProfile& profile) {
  TargetOptions options;
  options.path = place.target().string();
  options.file_size_bytes = profile.file_bytes;
  options.writes = true;
  options.erase = place.request();
  return options;
}

// All that can be refused is refused here, before there is a record. Writes nothing.
RawTarget check_and_open(const QualifyOptions& options, const QualifyPlace& place) {
  const auto profile = chosen_profile(options);
  const auto seed = options.common.seed;
  const auto data = sysbench_options(profile, seed);
  check_options(data);
  check_spec(oltp_spec(profile, seed));
  auto target = RawTarget::open(target_options(place, profile));
  for (const auto& workload : characterisation(profile, options.engine, seed)) {
    check_workload(workload, {target.shape()});
  }
  if (!place.is_device()) {
    const auto none = place.target() / ".plimsoll-qualify.db";  // asked for its folder's space
    check_load(*open_database("sqlite:" + none.string()), data);
  }
  return target;
}

// One qualification: what its steps share.
class Qualification {
 public:
  Qualification(const QualifyOptions& options, QualifyPlace& place, RawTarget target,
                Record& record, std::stop_token stop)
      : options_(options),
        profile_(chosen_profile(options)),
        place_(place),
        target_(std::move(target)),
        record_(record),
        stop_(std::move(stop)),
        progress_(make_progress(options.common)),
        observation_(record, place.stack()) {}

  void run() {
    warn();
    characterise();
    run_database(place_.prepare_folder(record_.dir() / "mounted-drive"));
    observation_.finish();
  }

 private:
  void warn();
  void characterise();
  void run_database(const fs::path& folder);
  ProgressSink step(std::size_t number, std::string what);
  void check_stop() const;

  const QualifyOptions& options_;
  const QualifyProfile profile_;
  QualifyPlace& place_;
  std::optional<RawTarget> target_;  // until the raw part is over: the database needs its space
  Record& record_;
  std::stop_token stop_;
  ProgressSink progress_;
  Observation observation_;
};

void Qualification::check_stop() const {
  if (stop_.stop_requested()) throw Error(ExitCode::kInterrupted, "interrupted");
}

// "[2/14] raw 4K random read QD1".
ProgressSink Qualification::step(std::size_t number, std::string what) {
  const std::size_t steps =
      1 + characterisation(profile_, options_.engine, 0).size() + 1 + qualify_workloads().size();
  return [this, label = fmt::format("[{}/{}] {}", number, steps, what)](const Progress& now) {
    Progress labelled = now;
    labelled.phase = label;
    progress_(labelled);
  };
}

void Qualification::warn() {
  describe_target(record_, place_.stack());
  record_.warn({"not-preconditioned",
                "the drive was measured as it was found, not in its steady state: it may be faster "
                "than in a month"});
  record_.commit();
}

void Qualification::characterise() {
  for (const auto& warning : target_->warnings()) record_.warn(warning);
  target_->fill(options_.common.seed, stop_, step(1, "fill"));
  RawTarget* const targets[] = {&*target_};
  std::size_t number = 1;
  for (const auto& workload : characterisation(profile_, options_.engine, options_.common.seed)) {
    const auto result = run_raw(workload, targets, record_,
                                observation_.raw_hooks(stop_, step(++number, workload.name)));
    if (result.failure) throw BrokenError(describe(*result.failure, targets));
    check_stop();
  }
  target_.reset();
}

void Qualification::run_database(const fs::path& folder) {
  PlacementOptions placed;
  placed.engine = options_.db;
  placed.folder = folder;
  if (options_.memory_bytes > 0) placed.memory_bytes = options_.memory_bytes;
  placed.accept_unbounded = options_.common.accepts("unbounded-memory");
  Placement placement(placed);
  Database* const database = &placement.database();
  const auto data = sysbench_options(profile_, options_.common.seed);
  std::size_t number = 1 + characterisation(profile_, options_.engine, 0).size();
  load_sysbench(*database, data, record_, "load",
                {.progress = step(++number, "load"), .stop = stop_});
  check_stop();
  record_.set_environment("database", database->environment());
  if (const auto server = placement.environment(); !server.is_null())
    record_.set_environment("server", server);
  if (placement.warning()) record_.warn(*placement.warning());
  warn_if_cached(record_, *database);
  for (const auto name : qualify_workloads()) {
    const auto workload = make_sysbench(sysbench_row(name), data, database->engine());
    run_oltp(*database, *workload, oltp_spec(profile_, options_.common.seed), record_,
             std::string(name), observation_.oltp_hooks(stop_, step(++number, std::string(name))));
    check_stop();
  }
}

void print_plan(const QualifyPlace& place, const QualifyOptions& options) {
  if (options.common.quiet) return;
  const auto profile = chosen_profile(options);
  fmt::print(stderr, "Drive    {}\nPlan     {}: raw, load, run; {} and the time to load\n",
             describe(place.stack()), profile.name, format_duration(planned_ns(profile)));
}

ExitCode qualify(const QualifyOptions& options, const CLI::App& command, CommandContext& context) {
  EraseRequest request;
  request.erase = !options.erase.empty();
  if (options.erase != "true") request.named = options.erase;
  request.results_dir = options.common.out.empty() ? fs::path("results") : options.common.out;
  QualifyPlace place(options.target, request);
  if (!place.is_device()) remove_abandoned_servers(options.target);
  RawTarget target = check_and_open(options, place);
  print_plan(place, options);
  Record record = create_record(make_spec(command, context, options.common, options.target),
                                options.common, drive_label(place.stack()));
  return conclude(record, options.common, Output::kSummaryAndPage, [&] {
    Qualification(options, place, std::move(target), record, context.interrupt->token()).run();
  });
}

std::string profile_names() {
  std::string text = "How long: ";
  for (const auto& profile : qualify_profiles()) {
    text += fmt::format("{} ({}), ", profile.name, profile.description);
  }
  text.resize(text.size() - 2);
  return text;
}

std::string check_profile(const std::string& name) {
  try {
    qualify_profile(name);
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

// Those that keep many requests in flight, on a drive.
std::string check_engine(const std::string& name) {
  std::string fit;
  for (const auto& kind : engine_kinds()) {
    if (kind.name == kNullEngine || kind.make()->limits().max_depth == 1) continue;
    if (kind.name == name) return {};
    fit += (fit.empty() ? "" : ", ") + std::string(kind.name);
  }
  const char* why = name == kNullEngine ? "does no I/O: its figures would be no drive's"
                                        : "is no engine that keeps many requests in flight";
  return fmt::format("{} {}; there are: {}", name, why, fit);
}

void add_profile_options(CLI::App& command, QualifyOptions& options) {
  command.add_option("--profile", options.profile, profile_names())
      ->type_name("NAME")
      ->check(CLI::Validator(check_profile, std::string()));
  size_option(command, "--size", options.file_bytes, "Size of the raw part's file");
  duration_option(command, "--raw-time", options.raw_time_ns, "Measured time of a raw workload");
  duration_option(command, "--time", options.time_ns, "Measured time of a database workload");
  duration_option(command, "--warmup", options.warm_up_ns, "Its warm-up", Zero::kAllowed);
  const auto count = [&](const char* name, auto& value, std::int64_t highest,
                         const char* description) {
    command.add_option(name, value, description)
        ->type_name("N")
        ->default_str("")
        ->check(whole_number(1, highest));
  };
  count("--tables", options.tables, 10'000, "Tables of the database");
  count("--table-size", options.table_size, INT32_MAX, "Rows of a table");
  count("--threads", options.threads, 10'000, "Terminals, each with a session");
}

}  // namespace

void setup_qualify(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<QualifyOptions>();
  CLI::App* command = app.add_subcommand(
      "qualify", "The whole job: what the drive does, what a database gets on it, and why");
  command->footer(kQualifyExamples);
  command->add_option("TARGET", options->target, "A folder of the drive, or with --erase a device")
      ->required()
      ->type_name("");
  add_profile_options(*command, *options);
  command->add_option("--engine", options->engine, "I/O engine of the raw part")
      ->type_name("NAME")
      ->check(CLI::Validator(check_engine, std::string()));
  command
      ->add_option("--db", options->db,
                   "The database: sqlite, or a server of its own: postgresql, mariadb or mysql")
      ->type_name("NAME");
  size_option(*command, "--memory", options->memory_bytes,
              "Hold the database and its page cache to it");
  command->add_flag("--erase", options->erase,
                    "Write to a block device; --erase=SERIAL also over what is on it");
  add_common_options(*command, options->common);
  command->callback([options, command, &context] {
    context.run = [options, command, &context] { return qualify(*options, *command, context); };
  });
}

}  // namespace plimsoll::cli
