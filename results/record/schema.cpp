#include "results/record/schema.h"

namespace plimsoll {

// Additions (a table, a view, a column that may be null) keep the version; anything that changes
// what a query of today answers raises Record::kSchemaVersion.
const char* const kSchema = R"sql(
CREATE TABLE run(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  plimsoll_version TEXT NOT NULL,
  command TEXT NOT NULL,
  target TEXT NOT NULL,
  argv TEXT NOT NULL,
  seed INTEGER NOT NULL,
  options TEXT NOT NULL,
  started_ns INTEGER NOT NULL,
  started_wall_ns INTEGER NOT NULL,
  ended_ns INTEGER,
  verdict TEXT NOT NULL DEFAULT 'none',
  sentence TEXT NOT NULL DEFAULT '');

CREATE TABLE environment(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE part(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  spec TEXT NOT NULL,
  start_ns INTEGER NOT NULL,
  end_ns INTEGER,
  facts TEXT NOT NULL DEFAULT '{}');

CREATE TABLE source(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE operation(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE series(
  id INTEGER PRIMARY KEY,
  source INTEGER NOT NULL REFERENCES source(id),
  name TEXT NOT NULL,
  UNIQUE (source, name));

CREATE TABLE interval(
  id INTEGER PRIMARY KEY,
  part INTEGER NOT NULL REFERENCES part(id),
  source INTEGER NOT NULL REFERENCES source(id),
  operation INTEGER NOT NULL REFERENCES operation(id),
  start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  measured INTEGER NOT NULL,
  count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  errors INTEGER NOT NULL,
  time_sum_ns REAL);
CREATE INDEX interval_by_source ON interval(part, source, operation);

CREATE TABLE interval_error(
  interval INTEGER NOT NULL REFERENCES interval(id),
  code INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (interval, code)) WITHOUT ROWID;

CREATE TABLE latency(
  id INTEGER PRIMARY KEY,
  interval INTEGER NOT NULL REFERENCES interval(id),
  measure TEXT NOT NULL,
  count INTEGER NOT NULL,
  sum_ns REAL,
  sum_squares REAL,
  min_ns INTEGER,
  max_ns INTEGER,
  p50_ns INTEGER,
  p90_ns INTEGER,
  p95_ns INTEGER,
  p99_ns INTEGER,
  p999_ns INTEGER,
  histogram BLOB,
  same_as INTEGER REFERENCES latency(id));
CREATE INDEX latency_by_interval ON latency(interval);

CREATE TABLE point(
  part INTEGER NOT NULL REFERENCES part(id),
  series INTEGER NOT NULL REFERENCES series(id),
  at_ns INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (part, series, at_ns)) WITHOUT ROWID;

CREATE TABLE event(
  id INTEGER PRIMARY KEY,
  at_ns INTEGER NOT NULL,
  length_ns INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL);

CREATE TABLE check_result(
  id INTEGER PRIMARY KEY,
  number INTEGER NOT NULL,
  text TEXT NOT NULL,
  holds INTEGER NOT NULL,
  rows TEXT NOT NULL);

CREATE TABLE finding(id INTEGER PRIMARY KEY, finding TEXT NOT NULL);

CREATE TABLE warning(
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  severity TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (kind, text));

CREATE VIEW intervals AS
SELECT interval.id, part.name AS part, part.id AS part_id, source.name AS source,
       operation.name AS operation,
       (interval.start_ns - run.started_ns) / 1e9 AS at_s,
       (interval.end_ns - interval.start_ns) / 1e9 AS length_s,
       measured, count, bytes, errors,
       count * 1e9 / (interval.end_ns - interval.start_ns) AS per_s,
       bytes * 1e9 / (interval.end_ns - interval.start_ns) AS bytes_per_s,
       nullif(time_sum_ns, 0) / nullif(count, 0) AS mean_ns
FROM interval JOIN part ON part.id = interval.part JOIN source ON source.id = interval.source
     JOIN operation ON operation.id = interval.operation JOIN run;

CREATE VIEW latencies AS
SELECT intervals.id AS interval, part, part_id, source, operation, at_s, length_s, measured,
       latency.measure, latency.count, latency.sum_ns / latency.count AS mean_ns, latency.min_ns,
       latency.p50_ns, latency.p90_ns, latency.p95_ns, latency.p99_ns, latency.p999_ns,
       latency.max_ns, coalesce(latency.histogram, same.histogram) AS histogram
FROM latency JOIN intervals ON intervals.id = latency.interval
     LEFT JOIN latency AS same ON same.id = latency.same_as;

CREATE VIEW points AS
SELECT part.name AS part, part.id AS part_id, source.name AS source, series.name AS series,
       (point.at_ns - run.started_ns) / 1e9 AS at_s, point.value
FROM point JOIN series ON series.id = point.series JOIN source ON source.id = series.source
     JOIN part ON part.id = point.part JOIN run;

CREATE VIEW verdict AS
SELECT CASE WHEN EXISTS (SELECT 1 FROM warning WHERE severity = 'invalidates') THEN 'invalid'
            ELSE verdict END AS verdict, sentence FROM run;
)sql";

}  // namespace plimsoll
