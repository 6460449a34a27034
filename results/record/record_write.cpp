#include <cassert>
#include <cmath>

#include "results/base/error.h"
#include "results/record/record_impl.h"
#include "results/record/warning.h"

namespace plimsoll {
namespace {

using Statement = sqlite::Statement;

// The id of a dictionary's row, made where it is missing.
template <typename... Values>
std::int64_t dictionary_id(sqlite::Connection& db, const char* insert, const Values&... values) {
  Statement statement(db, insert);
  statement.start(values...);
  statement.next();
  const std::int64_t id = statement.integer(0);
  statement.next();  // ends it
  return id;
}

constexpr const char* kInsertSource =
    "INSERT INTO source(name) VALUES(?) ON CONFLICT DO UPDATE SET name = name RETURNING id";
constexpr const char* kInsertOperation =
    "INSERT INTO operation(name) VALUES(?) ON CONFLICT DO UPDATE SET name = name RETURNING id";
constexpr const char* kInsertSeries =
    "INSERT INTO series(source, name) VALUES(?, ?) "
    "ON CONFLICT DO UPDATE SET name = name RETURNING id";

bool equal(const Histogram& a, const Histogram& b) {
  return a.count() == b.count() && a.min() == b.min() && a.max() == b.max() && a.sum() == b.sum() &&
         a.sum_squares() == b.sum_squares();
}

std::optional<std::int64_t> known(const Histogram& histogram, std::int64_t value) {
  return histogram.count() == 0 ? std::nullopt : std::optional(value);
}

std::optional<std::int64_t> percentile(const Histogram& histogram, double percent) {
  return known(histogram, histogram.percentile(percent));
}

}  // namespace

Inserts::Inserts(sqlite::Connection& db)
    : interval(db,
               "INSERT INTO interval(part, source, operation, start_ns, end_ns, measured, count, "
               "bytes, errors, time_sum_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      interval_error(db, "INSERT INTO interval_error(interval, code, count) VALUES(?, ?, ?)"),
      latency(db,
              "INSERT INTO latency(interval, measure, count, sum_ns, sum_squares, min_ns, max_ns, "
              "p50_ns, p90_ns, p95_ns, p99_ns, p999_ns, histogram, same_as) "
              "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      point(db, "INSERT OR REPLACE INTO point(part, series, at_ns, value) VALUES(?, ?, ?, ?)") {}

void Record::Impl::begin() {
  if (inserts == nullptr) throw std::logic_error("a finished record is only read");
  if (db->in_transaction()) return;
  // An id is good for the transaction that may have made it: a failed one takes its rows back.
  sources.clear();
  operations.clear();
  series.clear();
  db->script("BEGIN IMMEDIATE");
}

void Record::Impl::commit() {
  if (!db->in_transaction()) return;
  try {
    db->script("COMMIT");
  } catch (const Error&) {
    // SQLite may leave the transaction open; the next interval then has a chance of its own.
    if (db->in_transaction()) db->try_script("ROLLBACK");
    throw;
  }
}

std::int64_t Record::Impl::source_id(const std::string& name) {
  const auto found = sources.find(name);
  if (found != sources.end()) return found->second;
  return sources[name] = dictionary_id(*db, kInsertSource, name);
}

std::int64_t Record::Impl::operation_id(const std::string& name) {
  const auto found = operations.find(name);
  if (found != operations.end()) return found->second;
  return operations[name] = dictionary_id(*db, kInsertOperation, name);
}

std::int64_t Record::Impl::series_id(const std::string& source, const std::string& name) {
  const std::pair key(source_id(source), name);
  const auto found = series.find(key);
  if (found != series.end()) return found->second;
  return series[key] = dictionary_id(*db, kInsertSeries, key.first, name);
}

// In a closed loop response and service time are the same: the histogram, by far the largest part
// of a record, is then stored once.
void Record::Impl::insert_latencies(std::int64_t interval, std::span<const LatencyView> latencies) {
  const Histogram* stored = nullptr;
  std::int64_t stored_id = 0;
  std::string stored_bytes;
  for (const auto& [measure, histogram] : latencies) {
    const Histogram& h = *histogram;
    const std::string bytes = h.count() == 0 ? std::string() : h.encode();
    const bool same =
        stored != nullptr && h.count() > 0 && equal(h, *stored) && bytes == stored_bytes;
    std::optional<sqlite::Blob> blob;
    if (h.count() > 0 && !same) blob = sqlite::Blob{bytes};
    inserts->latency.run(interval, measure, h.count(), h.sum(), h.sum_squares(), known(h, h.min()),
                         known(h, h.max()), percentile(h, 50), percentile(h, 90), percentile(h, 95),
                         percentile(h, 99), percentile(h, 99.9), blob,
                         same ? std::optional(stored_id) : std::nullopt);
    if (same || !blob) continue;
    stored = histogram;
    stored_id = db->last_id();
    stored_bytes = bytes;
  }
}

void Record::Impl::insert_interval(const IntervalRow& row, std::span<const LatencyView> latencies) {
  assert(row.end_ns >= row.start_ns);
  begin();
  const std::int64_t source = source_id(row.source);
  const std::int64_t operation = operation_id(row.operation);
  inserts->interval.run(row.part, source, operation, row.start_ns, row.end_ns, row.measured ? 1 : 0,
                        row.count, row.bytes, row.errors,
                        row.time_sum_ns < 0 ? std::nullopt : std::optional(row.time_sum_ns));
  const std::int64_t id = db->last_id();
  for (const auto& [code, count] : row.errors_by_code) {
    inserts->interval_error.run(id, code, count);
  }
  insert_latencies(id, latencies);
}

Part Record::begin_part(const std::string& name, const std::string& kind, const Json& spec,
                        std::int64_t now_ns) {
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  Statement(*impl_->db, "INSERT INTO part(name, kind, spec, start_ns) VALUES(?, ?, ?, ?)")
      .run(name, kind, json_text(spec), now_ns);
  Part part;
  part.id = impl_->db->last_id();
  part.name = name;
  part.kind = kind;
  part.spec = spec;
  part.start_ns = now_ns;
  impl_->commit();
  return part;
}

void Record::end_part(const Part& part, std::int64_t now_ns, const Json& facts) {
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  Statement(*impl_->db, "UPDATE part SET end_ns = ?, facts = ? WHERE id = ?")
      .run(now_ns, json_text(facts), part.id);
  impl_->commit();
}

void Record::add_interval(const IntervalRow& row) {
  std::vector<LatencyView> latencies;
  for (const LatencyRow& latency : row.latencies) {
    latencies.push_back({latency.measure, &latency.histogram});
  }
  const std::lock_guard lock(impl_->mutex);
  impl_->insert_interval(row, latencies);
}

void Record::add_interval(const Part& part, const std::string& source,
                          const IntervalSample& sample) {
  IntervalRow row;
  row.part = part.id;
  row.source = source;
  row.operation = sample.operation;
  row.start_ns = sample.start_ns;
  row.end_ns = sample.end_ns;
  row.measured = sample.measured;
  row.count = sample.totals.count();
  row.bytes = sample.totals.bytes;
  row.errors = sample.totals.errors;
  row.errors_by_code = sample.totals.errors_by_code;
  const LatencyView latencies[] = {{"response", &sample.totals.response},
                                   {"service", &sample.totals.service}};
  const std::lock_guard lock(impl_->mutex);
  impl_->insert_interval(row, latencies);
}

void Record::add_point(const Part& part, const std::string& source, const std::string& name,
                       std::int64_t at_ns, double value) {
  if (!std::isfinite(value)) return;  // missing is absent
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  const std::int64_t series = impl_->series_id(source, name);
  impl_->inserts->point.run(part.id, series, at_ns, value);
}

void Record::add_event(const Event& event) {
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  Statement(*impl_->db, "INSERT INTO event(at_ns, length_ns, kind, text) VALUES(?, ?, ?, ?)")
      .run(event.at_ns, event.length_ns, event.kind, event.text);
}

void Record::add_check(const Check& check) {
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  Statement(*impl_->db, "INSERT INTO check_result(number, text, holds, rows) VALUES(?, ?, ?, ?)")
      .run(check.number, check.text, check.holds ? 1 : 0, json_text(check.rows));
}

void Record::add_finding(const Json& finding) {
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  Statement(*impl_->db, "INSERT INTO finding(finding) VALUES(?)").run(json_text(finding));
}

void Record::set_environment(const std::string& key, const Json& value) {
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  Statement(*impl_->db, "INSERT OR REPLACE INTO environment(key, value) VALUES(?, ?)")
      .run(key, json_text(value));
}

void Record::warn(const Warning& warning) {
  const WarningKind& kind = warning_kind(warning.id);
  assert(kind.id == warning.id && "a warning's id is a row of warning_kinds()");
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  Statement(*impl_->db, "INSERT OR IGNORE INTO warning(kind, severity, text) VALUES(?, ?, ?)")
      .run(warning.id, severity_name(kind.severity), warning.text);
}

void Record::set_verdict(const Verdict& verdict) {
  const std::lock_guard lock(impl_->mutex);
  impl_->begin();
  Statement(*impl_->db, "UPDATE run SET verdict = ?, sentence = ?")
      .run(verdict.word, verdict.sentence);
}

void Record::commit() {
  const std::lock_guard lock(impl_->mutex);
  impl_->commit();
}

}  // namespace plimsoll
