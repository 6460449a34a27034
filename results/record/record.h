// The only thing that outlives a run: a folder with record.db, a SQLite database that is written as
// the run goes on. Its tables and views are documented in docs/record.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "results/measure/interval_series.h"
#include "results/record/warning.h"

namespace plimsoll {

using Json = nlohmann::ordered_json;

// What was asked, as the command line and configuration gave it (passwords removed), enough to
// repeat the run.
struct RunSpec {
  std::string command;            // "raw", "qualify", "oltp run"
  std::string target;             // as the user named it
  std::vector<std::string> argv;  // the exact command to repeat it; never holds a password
  std::uint64_t seed = 0;
  Json options = Json::object();  // every option with its value, defaults included
};

// A stretch of a run with one specification: one raw workload, one load, one database run. The
// measured span is that of the intervals marked measured.
struct Part {
  std::int64_t id = 0;
  std::string name;  // "raw randread 4k qd32", "oltp_read_write"
  std::string kind;  // "raw", "load", "oltp", "observe"
  Json spec = Json::object();
  std::int64_t start_ns = 0;           // Clock
  std::optional<std::int64_t> end_ns;  // empty: the run was cut in it
  // What only the run itself knew (asked and achieved rate, CPU seconds, accounting by error
  // class); intervals are never summarised here.
  Json facts = Json::object();
};

struct Event {
  std::int64_t at_ns = 0;
  std::int64_t length_ns = 0;  // 0 for an instant
  std::string kind;            // "checkpoint", "stall", "reconnect", "interrupted"
  std::string text;
};

// Kinds of latency a source can give: "response" and "service" for operations; "q2c" and "d2c" for
// devices. A block-statistics source gives means only and stores none.
struct LatencyRow {
  std::string measure;
  Histogram histogram;
};

// One interval of one operation of one source: the load generator ("raw", "oltp") or a device
// ("device:vda").
struct IntervalRow {
  std::int64_t part = 0;
  std::string source;
  std::string operation;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool measured = true;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t errors = 0;
  std::map<int, std::uint64_t> errors_by_code;
  double time_sum_ns = -1;  // of all operations together, where only that is known; else negative
  std::vector<LatencyRow> latencies;
};

struct SeriesPoint {
  std::int64_t at_ns;
  double value;
};

struct Check {
  int number;
  std::string text;
  bool holds;
  Json rows = Json::array();  // offending rows
};

struct Verdict {
  std::string word = "none";  // "pass", "fail", "invalid", "none"
  std::string sentence;
};

// Thread-safe: a run's threads write to one record. Rows reach the file at commit(), which a run
// calls once an interval, so that a kill costs at most the interval in flight; the destructor
// commits too. Nothing is flushed to the drive before finish(). Write failures throw BrokenError
// that names the missing space; what was committed stays readable, and the rows since are lost.
class Record {
 public:
  static constexpr int kSchemaVersion = 1;

  // Makes `dir` (and its parents) and the database in it. Throws UsageError when it already holds a
  // record, BrokenError when it can't be written.
  static Record create(const std::filesystem::path& dir, const RunSpec& spec);

  // Opens for reading; `path` is a run's folder or its record.db. A record whose writer was killed
  // is readable. Throws UsageError: no record there; a newer schema (names both versions); a
  // truncated or damaged file.
  static Record open(const std::filesystem::path& path);

  Record(Record&&) noexcept;
  Record& operator=(Record&&) noexcept;
  ~Record();

  const std::filesystem::path& dir() const;

  // --- writing
  Part begin_part(const std::string& name, const std::string& kind, const Json& spec,
                  std::int64_t now_ns);
  void end_part(const Part& part, std::int64_t now_ns, const Json& facts);
  void add_interval(const IntervalRow& row);
  void add_interval(const Part& part, const std::string& source, const IntervalSample& sample);
  // A sampled number: (source, name) such as ("device:vda", "in_flight"), ("psi", "io_some_pct").
  // One that isn't finite is missing and not stored; of two of one instant the later stays.
  void add_point(const Part& part, const std::string& source, const std::string& name,
                 std::int64_t at_ns, double value);
  void add_event(const Event& event);
  void add_check(const Check& check);
  void add_finding(const Json& finding);
  void set_environment(const std::string& key, const Json& value);
  void warn(const Warning& warning);  // the same id and text twice is stored once
  void set_verdict(const Verdict& verdict);
  void commit();
  // Commits, marks the run as ended, folds the journal into record.db and flushes it once.
  // Afterwards only reading is allowed.
  void finish(std::int64_t now_ns);

  // --- reading; valid on both kinds
  RunSpec spec() const;
  std::string version() const;           // of the Plimsoll that wrote it
  std::int64_t started_wall_ns() const;  // since 1970 UTC
  std::int64_t started_ns() const;       // Clock, the same instant
  bool finished() const;                 // false: the run was cut
  std::vector<Part> parts() const;
  std::vector<std::string> sources(const Part& part) const;
  std::vector<std::string> operations(const Part& part, const std::string& source) const;
  // In time order. `with_histograms` = false is quick: latencies stay empty.
  std::vector<IntervalRow> intervals(const Part& part, const std::string& source,
                                     bool with_histograms = true) const;
  // The same, one row at a time and so without memory for all of them: what a long record is read
  // with. `visit` must not call the record.
  void for_each_interval(const Part& part, const std::string& source, bool with_histograms,
                         const std::function<void(const IntervalRow&)>& visit) const;
  // Everything measured of one operation merged: counts added, histograms merged, start of the
  // first to end of the last measured interval. Empty operation: all operations merged.
  IntervalRow total(const Part& part, const std::string& source,
                    const std::string& operation) const;
  std::vector<std::string> series_names(const Part& part, const std::string& source) const;
  std::vector<SeriesPoint> series(const Part& part, const std::string& source,
                                  const std::string& name) const;
  std::vector<Event> events() const;
  std::vector<Check> checks() const;
  std::vector<Json> findings() const;
  Json environment() const;  // key -> value
  std::vector<Warning> warnings() const;
  Verdict verdict() const;  // "invalid" when an invalidating warning stands

 private:
  struct Impl;
  explicit Record(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "results/runs/2026-11-30T14-28-05-raw-vda" (local time): a new, empty folder, unique also when
// two runs start in one second. Throws BrokenError when it can't be made.
std::filesystem::path default_run_dir(const std::string& command, const std::string& drive);

}  // namespace plimsoll
