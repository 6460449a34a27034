#include <algorithm>
#include <utility>

#include "results/base/error.h"
#include "results/record/record_impl.h"

namespace plimsoll {
namespace {

using Statement = sqlite::Statement;

// Rows in time order; 0 for every operation; measured ones only when the last is 1.
constexpr const char* kSelectIntervals =
    "SELECT interval.id, operation.name, start_ns, end_ns, measured, count, bytes, errors, "
    "time_sum_ns FROM interval JOIN operation ON operation.id = interval.operation "
    "WHERE part = ?1 AND source = (SELECT id FROM source WHERE name = ?2) "
    "AND (?3 = '' OR operation.name = ?3) AND measured >= ?4 "
    "ORDER BY start_ns, interval.id";
constexpr const char* kSelectLatencies =
    "SELECT latency.measure, coalesce(latency.histogram, same.histogram), latency.min_ns, "
    "latency.max_ns, latency.sum_ns, latency.sum_squares FROM latency "
    "LEFT JOIN latency AS same ON same.id = latency.same_as WHERE latency.interval = ? "
    "ORDER BY latency.id";

[[noreturn]] void fail_damaged(const std::exception& error) {
  throw UsageError(std::string("the record is damaged (") + error.what() +
                   "): copy it again, or query its other columns with sqlite3");
}

Json parsed(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    fail_damaged(error);
  }
}

Histogram read_histogram(const Statement& row) {
  if (row.is_null(1)) return {};
  try {
    Histogram histogram = Histogram::decode(row.bytes(1));
    histogram.restore_exact(row.integer(2), row.integer(3), row.real(4), row.real(5));
    return histogram;
  } catch (const std::runtime_error& error) {
    fail_damaged(error);
  }
}

// Reads a source's rows with what hangs on each.
class IntervalReader {
 public:
  IntervalReader(sqlite::Connection& db, const Part& part, const std::string& source,
                 const std::string& operation, bool measured_only)
      : part_(part.id),
        source_(source),
        operation_(operation),
        rows_(db, kSelectIntervals),
        errors_(db, "SELECT code, count FROM interval_error WHERE interval = ?"),
        latencies_(db, kSelectLatencies) {
    rows_.start(part_, source_, operation_, measured_only ? 1 : 0);
  }

  bool next(IntervalRow& row, bool with_histograms) {
    if (!rows_.next()) return false;
    row = IntervalRow();
    row.part = part_;
    row.source = source_;
    row.operation = rows_.text(1);
    row.start_ns = rows_.integer(2);
    row.end_ns = rows_.integer(3);
    row.measured = rows_.integer(4) != 0;
    row.count = static_cast<std::uint64_t>(rows_.integer(5));
    row.bytes = static_cast<std::uint64_t>(rows_.integer(6));
    row.errors = static_cast<std::uint64_t>(rows_.integer(7));
    if (!rows_.is_null(8)) row.time_sum_ns = rows_.real(8);
    if (row.errors > 0) read_errors(row);
    if (with_histograms) read_latencies(row);
    return true;
  }

 private:
  void read_errors(IntervalRow& row) {
    errors_.start(rows_.integer(0));
    while (errors_.next()) {
      row.errors_by_code[static_cast<int>(errors_.integer(0))] =
          static_cast<std::uint64_t>(errors_.integer(1));
    }
  }
  void read_latencies(IntervalRow& row) {
    latencies_.start(rows_.integer(0));
    while (latencies_.next()) {
      row.latencies.push_back({latencies_.text(0), read_histogram(latencies_)});
    }
  }

  std::int64_t part_;
  std::string source_;
  std::string operation_;
  Statement rows_;
  Statement errors_;
  Statement latencies_;
};

void merge_latencies(std::vector<LatencyRow>& into, const std::vector<LatencyRow>& from) {
  for (const LatencyRow& row : from) {
    const auto same = std::find_if(into.begin(), into.end(), [&](const LatencyRow& candidate) {
      return candidate.measure == row.measure;
    });
    if (same == into.end()) {
      into.push_back(row);
    } else {
      same->histogram.merge(row.histogram);
    }
  }
}

// A sum of which a term is unknown is unknown.
void merge_row(IntervalRow& into, const IntervalRow& from) {
  into.start_ns = std::min(into.start_ns, from.start_ns);
  into.end_ns = std::max(into.end_ns, from.end_ns);
  into.count += from.count;
  into.bytes += from.bytes;
  into.errors += from.errors;
  for (const auto& [code, count] : from.errors_by_code) into.errors_by_code[code] += count;
  const bool known = into.time_sum_ns >= 0 && from.time_sum_ns >= 0;
  into.time_sum_ns = known ? into.time_sum_ns + from.time_sum_ns : -1;
  merge_latencies(into.latencies, from.latencies);
}

std::vector<std::string> names(Statement& statement) {
  std::vector<std::string> result;
  while (statement.next()) result.push_back(statement.text(0));
  return result;
}

}  // namespace

RunSpec Record::spec() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db, "SELECT command, target, argv, seed, options FROM run");
  row.start();
  row.next();
  RunSpec spec;
  spec.command = row.text(0);
  spec.target = row.text(1);
  spec.argv = parsed(row.text(2)).get<std::vector<std::string>>();
  spec.seed = static_cast<std::uint64_t>(row.integer(3));
  spec.options = parsed(row.text(4));
  return spec;
}

std::string Record::version() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db, "SELECT plimsoll_version FROM run");
  row.start();
  row.next();
  return row.text(0);
}

std::int64_t Record::started_wall_ns() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->db->number("SELECT started_wall_ns FROM run");
}

std::int64_t Record::started_ns() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->db->number("SELECT started_ns FROM run");
}

bool Record::finished() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->db->number("SELECT ended_ns IS NOT NULL FROM run") == 1;
}

std::vector<Part> Record::parts() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db,
                "SELECT id, name, kind, spec, start_ns, end_ns, facts FROM part ORDER BY id");
  row.start();
  std::vector<Part> parts;
  while (row.next()) {
    Part part;
    part.id = row.integer(0);
    part.name = row.text(1);
    part.kind = row.text(2);
    part.spec = parsed(row.text(3));
    part.start_ns = row.integer(4);
    if (!row.is_null(5)) part.end_ns = row.integer(5);
    part.facts = parsed(row.text(6));
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<std::string> Record::sources(const Part& part) const {
  const std::lock_guard lock(impl_->mutex);
  Statement rows(*impl_->db,
                 "SELECT name FROM source WHERE id IN (SELECT source FROM interval WHERE part = ?1 "
                 "UNION SELECT source FROM series WHERE EXISTS (SELECT 1 FROM point "
                 "WHERE part = ?1 AND series = series.id)) ORDER BY id");
  rows.start(part.id);
  return names(rows);
}

std::vector<std::string> Record::operations(const Part& part, const std::string& source) const {
  const std::lock_guard lock(impl_->mutex);
  Statement rows(*impl_->db,
                 "SELECT name FROM operation WHERE id IN (SELECT operation FROM interval "
                 "WHERE part = ? AND source = (SELECT id FROM source WHERE name = ?)) ORDER BY id");
  rows.start(part.id, source);
  return names(rows);
}

void Record::for_each_interval(const Part& part, const std::string& source, bool with_histograms,
                               const std::function<void(const IntervalRow&)>& visit) const {
  const std::lock_guard lock(impl_->mutex);
  IntervalReader reader(*impl_->db, part, source, std::string(), false);
  IntervalRow row;
  while (reader.next(row, with_histograms)) visit(row);
}

std::vector<IntervalRow> Record::intervals(const Part& part, const std::string& source,
                                           bool with_histograms) const {
  std::vector<IntervalRow> rows;
  for_each_interval(part, source, with_histograms,
                    [&](const IntervalRow& row) { rows.push_back(row); });
  return rows;
}

IntervalRow Record::total(const Part& part, const std::string& source,
                          const std::string& operation) const {
  const std::lock_guard lock(impl_->mutex);
  IntervalReader reader(*impl_->db, part, source, operation, true);
  IntervalRow total;
  IntervalRow row;
  bool first = true;
  while (reader.next(row, true)) {
    if (std::exchange(first, false)) {
      total = row;
    } else {
      merge_row(total, row);
    }
  }
  total.part = part.id;
  total.source = source;
  total.operation = operation;
  return total;
}

std::vector<std::string> Record::series_names(const Part& part, const std::string& source) const {
  const std::lock_guard lock(impl_->mutex);
  Statement rows(*impl_->db,
                 "SELECT name FROM series WHERE source = (SELECT id FROM source WHERE name = ?2) "
                 "AND EXISTS (SELECT 1 FROM point WHERE part = ?1 AND series = series.id) "
                 "ORDER BY id");
  rows.start(part.id, source);
  return names(rows);
}

std::vector<SeriesPoint> Record::series(const Part& part, const std::string& source,
                                        const std::string& name) const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db,
                "SELECT at_ns, value FROM point WHERE part = ? AND series = (SELECT series.id "
                "FROM series JOIN source ON source.id = series.source WHERE source.name = ? "
                "AND series.name = ?) ORDER BY at_ns");
  row.start(part.id, source, name);
  std::vector<SeriesPoint> points;
  while (row.next()) points.push_back({row.integer(0), row.real(1)});
  return points;
}

std::vector<Event> Record::events() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db, "SELECT at_ns, length_ns, kind, text FROM event ORDER BY at_ns, id");
  row.start();
  std::vector<Event> events;
  while (row.next()) {
    events.push_back({row.integer(0), row.integer(1), row.text(2), row.text(3)});
  }
  return events;
}

std::vector<Check> Record::checks() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db, "SELECT number, text, holds, rows FROM check_result ORDER BY id");
  row.start();
  std::vector<Check> checks;
  while (row.next()) {
    checks.push_back(
        {static_cast<int>(row.integer(0)), row.text(1), row.integer(2) != 0, parsed(row.text(3))});
  }
  return checks;
}

std::vector<Json> Record::findings() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db, "SELECT finding FROM finding ORDER BY id");
  row.start();
  std::vector<Json> findings;
  while (row.next()) findings.push_back(parsed(row.text(0)));
  return findings;
}

Json Record::environment() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db, "SELECT key, value FROM environment ORDER BY key");
  row.start();
  Json environment = Json::object();
  while (row.next()) environment[row.text(0)] = parsed(row.text(1));
  return environment;
}

std::vector<Warning> Record::warnings() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db, "SELECT kind, text FROM warning ORDER BY id");
  row.start();
  std::vector<Warning> warnings;
  while (row.next()) warnings.push_back({row.text(0), row.text(1)});
  return warnings;
}

Verdict Record::verdict() const {
  const std::lock_guard lock(impl_->mutex);
  Statement row(*impl_->db, "SELECT verdict, sentence FROM verdict");
  row.start();
  row.next();
  return {row.text(0), row.text(1)};
}

}  // namespace plimsoll
