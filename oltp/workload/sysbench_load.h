// Fills, checks and drops the tables of the sysbench workloads.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "oltp/database/database.h"
#include "oltp/workload/sysbench.h"
#include "results/base/progress.h"
#include "results/record/record.h"

namespace plimsoll {

struct LoadHooks {
  ProgressSink progress;  // may be empty
  std::stop_token stop;
};

struct LoadResult {
  std::uint64_t rows = 0;          // in the tables now
  std::uint64_t resumed_rows = 0;  // of them, those an earlier load had left
  std::uint64_t bytes = 0;         // of the database's files
  double seconds = 0;
  bool interrupted = false;  // stopped; the same call resumes it
  nlohmann::ordered_json to_json() const;
};

// Before a load, without writing anything: throws UsageError (options out of range) and
// RefusedError (loaded already; tables of another tool; too little space).
void check_load(Database& database, const SysbenchOptions& options);

// The same rows for the same (seed, tables, table_size) on every database: k is uniform, c and pad
// are random digits. A load that was killed is resumed where its last committed chunk ends when the
// options are the same, else begun anew. On a full drive all that it made is removed. Throws
// what check_load does, and BrokenError.
LoadResult fill_sysbench(Database& database, const SysbenchOptions& options,
                         const LoadHooks& hooks);

// The same as a part of a record, of kind "load"; the result is its facts.
LoadResult load_sysbench(Database& database, const SysbenchOptions& options, Record& record,
                         const std::string& part_name, const LoadHooks& hooks);

// Before a run: `options` with 0 tables or table_size take those of the load. Throws UsageError
// (not loaded, other sizes than asked) and RefusedError (half-loaded, another tool's tables).
// `workload` is the one that will run, named where a load is the mend.
SysbenchOptions match_loaded(Database& database, SysbenchOptions options,
                             std::string_view workload = "oltp_read_write");

// Drops the tables that Plimsoll loaded, whole or half. Returns how many; throws RefusedError for
// tables that it did not load.
int drop_sysbench(Database& database);

}  // namespace plimsoll
