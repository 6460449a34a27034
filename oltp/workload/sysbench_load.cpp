#include "oltp/workload/sysbench_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "oltp/workload/load_marker.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "results/measure/clock.h"

namespace plimsoll {
namespace {

constexpr const char* kSchema = "sysbench";
constexpr std::int64_t kChunkRows = 20'000;
// Measured on SQLite with 4 KiB pages (213 a row of 100,000); other engines need a little more.
constexpr std::uint64_t kRowBytes = 230;
constexpr std::int64_t kProgress_ns = 500'000'000;
const std::vector<std::string> kColumns = {"id", "k", "c", "pad"};

std::string table_name(int table) {
  return fmt::format("sbtest{}", table);
}

std::uint64_t rows_of(const SysbenchOptions& options) {
  return static_cast<std::uint64_t>(options.tables) *
         static_cast<std::uint64_t>(options.table_size);
}

std::string parameters_of(const SysbenchOptions& options) {
  return Json{
      {"tables", options.tables}, {"table_size", options.table_size}, {"seed", options.seed}}
      .dump();
}

std::string describe(const SysbenchOptions& options) {
  return fmt::format("--tables {} --table-size {}", options.tables, options.table_size);
}

SysbenchOptions loaded_options(const LoadMarker& marker) {
  const Json parameters = Json::parse(marker.parameters);
  SysbenchOptions loaded;
  loaded.tables = parameters.at("tables");
  loaded.table_size = parameters.at("table_size");
  loaded.seed = parameters.at("seed");
  return loaded;
}

std::optional<LoadMarker> read_marker(Database& database, const DbTables& tables) {
  if (!tables.contains(LoadMarkers::kTable)) return std::nullopt;
  const auto session = database.connect();
  return LoadMarkers(*session, database.engine(), kSchema).read(tables);
}

std::uint64_t rows_in(const LoadMarker& marker, const SysbenchOptions& options) {
  return static_cast<std::uint64_t>(marker.step * options.table_size + marker.step_rows);
}

std::string describe_half(const LoadMarker& marker) {
  const SysbenchOptions loaded = loaded_options(marker);
  return fmt::format("half-loaded (table {} of {}, row {} of {})",
                     std::min<std::int64_t>(marker.step + 1, loaded.tables), loaded.tables,
                     format_thousands(static_cast<std::uint64_t>(marker.step_rows)),
                     format_thousands(static_cast<std::uint64_t>(loaded.table_size)));
}

std::vector<std::string> sysbench_tables(const DbTables& tables) {
  std::vector<std::string> names;
  for (const auto& [name, columns] : tables) {
    const std::string_view number =
        std::string_view(name).substr(std::min<std::size_t>(6, name.size()));
    if (name.starts_with("sbtest") && !number.empty() &&
        std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; })) {
      names.push_back(name);
    }
  }
  return names;
}

[[noreturn]] void refuse_foreign(const std::string& table) {
  throw RefusedError(
      fmt::format("table {} was not loaded by Plimsoll (table {} says nothing of "
                  "it): load into another database, or drop that table yourself",
                  table, LoadMarkers::kTable));
}

// With their marker; little space is needed for it.
void drop_tables(Session& session, const std::string& engine, int tables) {
  const Statements statements = Statements::load(kSchema, engine);
  for (int table = 1; table <= tables; ++table) {
    execute_or_throw(session, statements.sql("drop_table", table));
  }
  LoadMarkers(session, engine, kSchema).remove();
}

// One load in progress.
class Loader {
 public:
  Loader(Database& database, const SysbenchOptions& options, const LoadHooks& hooks)
      : database_(database),
        options_(options),
        hooks_(hooks),
        tables_(database.tables()),
        bulk_(database.connect_bulk()),
        markers_(std::in_place, bulk_->session(), database.engine(), kSchema),
        statements_(Statements::load(kSchema, database.engine())) {}

  LoadResult load() {
    start_ns_ = clock_.now_ns();
    start_or_resume();
    while (marker_.step < options_.tables && !hooks_.stop.stop_requested()) load_table();
    result_.interrupted = marker_.step < options_.tables;
    bulk_->finish();
    bulk_.reset();
    if (!result_.interrupted) mark_done();
    result_.rows = rows_done();
    result_.bytes = database_.size_bytes();
    result_.seconds = static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9;
    return result_;
  }
  std::uint64_t rows_done() const { return rows_in(marker_, options_); }
  void remove_all() {
    // A full drive may have no space for a drop: a database that this load made goes whole.
    const bool made_here = tables_.empty();
    markers_.reset();
    bulk_.reset();
    if (made_here && database_.discard()) return;
    bulk_ = database_.connect_bulk();
    bulk_->session().rollback();
    drop_tables(bulk_->session(), database_.engine(), options_.tables);
    bulk_.reset();
    database_.reclaim();
  }

 private:
  std::uint64_t rows_asked() const { return rows_of(options_); }
  void start_or_resume();
  void load_table();
  void load_chunk(int table);
  void add_rows(int table, std::int64_t first, std::int64_t last);
  void mark_done();
  void report();

  Database& database_;
  const SysbenchOptions& options_;
  const LoadHooks& hooks_;
  SystemClock& clock_ = SystemClock::instance();
  DbTables tables_;
  std::unique_ptr<BulkLoad> bulk_;
  std::optional<LoadMarkers> markers_;  // on bulk_
  Statements statements_;
  LoadMarker marker_;
  LoadResult result_;
  std::int64_t start_ns_ = 0;
  std::int64_t reported_ns_ = 0;
};

void Loader::start_or_resume() {
  const auto found = markers_->read(tables_);
  if (found && found->parameters == parameters_of(options_)) {
    marker_ = *found;
    result_.resumed_rows = rows_done();
    return;
  }
  if (found) drop_tables(bulk_->session(), database_.engine(), loaded_options(*found).tables);
  markers_->create(parameters_of(options_));
  marker_.parameters = parameters_of(options_);
}

void Loader::load_table() {
  const int table = static_cast<int>(marker_.step) + 1;
  if (marker_.step_rows == 0) {
    execute_or_throw(bulk_->session(), statements_.sql("drop_table", table));
    execute_or_throw(bulk_->session(), statements_.sql("create_table", table));
  }
  while (marker_.step_rows < options_.table_size) {
    if (hooks_.stop.stop_requested()) return;
    load_chunk(table);
    report();
  }
  Session& session = bulk_->session();
  require_ok(session.begin(Access::kReadWrite), session, "begin");
  execute_or_throw(session, statements_.sql("create_index", table));
  marker_.step += 1;
  marker_.step_rows = 0;
  markers_->update(marker_);
  require_ok(session.commit(), session, "commit the index");
}

void Loader::load_chunk(int table) {
  Session& session = bulk_->session();
  const std::int64_t first = marker_.step_rows + 1;
  const std::int64_t last = std::min(marker_.step_rows + kChunkRows, options_.table_size);
  require_ok(session.begin(Access::kReadWrite), session, "begin");
  add_rows(table, first, last);
  LoadMarker next = marker_;
  next.step_rows = last;
  markers_->update(next);
  require_ok(session.commit(), session, "commit rows");
  marker_ = next;
}

void Loader::add_rows(int table, std::int64_t first, std::int64_t last) {
  const auto place = (static_cast<std::uint64_t>(table) << 32) + static_cast<std::uint64_t>(first);
  Rng rng(mix_seed(options_.seed, place));
  std::array<char, kCLength> c;
  std::array<char, kPadLength> pad;
  bulk_->start_rows(table_name(table), kColumns);
  for (std::int64_t id = first; id <= last; ++id) {
    const std::int64_t k = uniform(rng, 1, options_.table_size);
    fill_digit_groups(rng, c);
    fill_digit_groups(rng, pad);
    const std::array<DbView, 4> row = {id, k, std::string_view(c.data(), c.size()),
                                       std::string_view(pad.data(), pad.size())};
    require_ok(bulk_->add_row(row), bulk_->session(), "add a row");
  }
  require_ok(bulk_->end_rows(), bulk_->session(), "add rows");
}

// Durably, and after the rows are: a power loss can't leave a marker that says more than there is.
void Loader::mark_done() {
  const auto session = database_.connect();
  marker_.done = true;
  LoadMarkers(*session, database_.engine(), kSchema).update(marker_);
}

void Loader::report() {
  const std::int64_t now_ns = clock_.now_ns();
  if (!hooks_.progress || now_ns - reported_ns_ < kProgress_ns) return;
  reported_ns_ = now_ns;
  const auto loaded = static_cast<double>(rows_done() - result_.resumed_rows);
  const auto left = static_cast<double>(rows_asked() - rows_done());
  Progress progress;
  progress.phase = "load";
  progress.unit = "rows/s";
  progress.fraction = static_cast<double>(rows_done()) / static_cast<double>(rows_asked());
  progress.rate_per_s = loaded / (static_cast<double>(now_ns - start_ns_) * 1e-9);
  progress.left_ns = static_cast<std::int64_t>(left / progress.rate_per_s * 1e9);
  hooks_.progress(progress);
}

void check_columns(const DbTables& tables, int count) {
  for (int table = 1; table <= count; ++table) {
    const auto found = tables.find(table_name(table));
    if (found == tables.end() || found->second != kColumns) {
      throw RefusedError(fmt::format("table {} is {} since the load: drop and load again",
                                     table_name(table),
                                     found == tables.end() ? "gone" : "changed"));
    }
  }
}

}  // namespace

Json LoadResult::to_json() const {
  return {{"rows", rows},
          {"bytes", bytes},
          {"seconds", seconds},
          {"resumed_rows", resumed_rows},
          {"interrupted", interrupted}};
}

void check_load(Database& database, const SysbenchOptions& options) {
  check_options(options);
  const DbTables tables = database.tables();
  const auto marker = read_marker(database, tables);
  if (marker && marker->done) {
    throw RefusedError(
        fmt::format("the tables are loaded already ({}): drop them first with `plimsoll oltp drop`",
                    describe(loaded_options(*marker))));
  }
  const auto present = sysbench_tables(tables);
  if (!marker && !present.empty()) refuse_foreign(present.front());
  const bool resumes = marker && marker->parameters == parameters_of(options);
  const std::uint64_t rows = rows_of(options) - (resumes ? rows_in(*marker, options) : 0);
  const auto free = database.free_bytes();
  if (free && *free < rows * kRowBytes) {
    throw RefusedError(fmt::format(
        "{} rows need about {} and {} are free: free {} more, or load less with --tables or "
        "--table-size",
        format_thousands(rows), format_size(rows * kRowBytes), format_size(*free),
        format_size(rows * kRowBytes - *free)));
  }
}

LoadResult fill_sysbench(Database& database, const SysbenchOptions& options,
                         const LoadHooks& hooks) {
  check_load(database, options);
  Loader loader(database, options, hooks);
  try {
    return loader.load();
  } catch (const NoSpaceError&) {
    const std::uint64_t rows = rows_of(options);
    const std::uint64_t done = loader.rows_done();
    loader.remove_all();
    throw BrokenError(fmt::format(
        "the drive is full after {} of {} rows; about {} more are needed. What was loaded has been "
        "removed: free that much, or load less with --tables or --table-size",
        format_thousands(done), format_thousands(rows), format_size((rows - done) * kRowBytes)));
  }
}

LoadResult load_sysbench(Database& database, const SysbenchOptions& options, Record& record,
                         const std::string& part_name, const LoadHooks& hooks) {
  SystemClock& clock = SystemClock::instance();
  const Json spec = {{"schema", kSchema},
                     {"tables", options.tables},
                     {"table_size", options.table_size},
                     {"seed", options.seed}};
  const Part part = record.begin_part(part_name, "load", spec, clock.now_ns());
  record.commit();
  const LoadResult result = fill_sysbench(database, options, hooks);
  record.end_part(part, clock.now_ns(), result.to_json());
  record.commit();
  return result;
}

SysbenchOptions match_loaded(Database& database, SysbenchOptions options,
                             std::string_view workload) {
  const DbTables tables = database.tables();
  const auto marker = read_marker(database, tables);
  if (!marker) {
    if (const auto foreign = sysbench_tables(tables); !foreign.empty()) {
      refuse_foreign(foreign.front());
    }
    throw UsageError(
        fmt::format("the tables aren't there: load first with `plimsoll oltp load {}{}`", workload,
                    options.tables > 0 && options.table_size > 0 ? " " + describe(options) : ""));
  }
  if (!marker->done) {
    throw RefusedError(fmt::format("the database is {}: the same `plimsoll oltp load` resumes it",
                                   describe_half(*marker)));
  }
  const SysbenchOptions loaded = loaded_options(*marker);
  if (options.tables == 0) options.tables = loaded.tables;
  if (options.table_size == 0) options.table_size = loaded.table_size;
  if (options.tables > loaded.tables || options.table_size != loaded.table_size) {
    throw UsageError(
        fmt::format("{} was asked and {} is loaded: leave the options away to take "
                    "what there is, or drop and load anew",
                    describe(options), describe(loaded)));
  }
  check_columns(tables, options.tables);
  return options;
}

int drop_sysbench(Database& database) {
  const DbTables tables = database.tables();
  const auto names = sysbench_tables(tables);
  if (!tables.contains(LoadMarkers::kTable)) {
    if (!names.empty()) refuse_foreign(names.front());
    return 0;
  }
  const auto bulk = database.connect_bulk();
  const auto marker = LoadMarkers(bulk->session(), database.engine(), kSchema).read(tables);
  if (!marker) return 0;
  drop_tables(bulk->session(), database.engine(), loaded_options(*marker).tables);
  bulk->finish();
  database.reclaim();
  return static_cast<int>(names.size());
}

}  // namespace plimsoll
