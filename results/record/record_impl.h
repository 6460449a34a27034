// What the writing and the reading half of Record share.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "results/record/record.h"
#include "results/record/sqlite.h"

namespace plimsoll {

// A path needn't be UTF-8; JSON must: what isn't is replaced.
inline std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Prepared once: a run inserts some ten rows an interval, and must not pay for parsing each.
struct Inserts {
  explicit Inserts(sqlite::Connection& db);
  sqlite::Statement interval;
  sqlite::Statement interval_error;
  sqlite::Statement latency;
  sqlite::Statement point;
};

// A copy of a record that SQLite can't open where it lies; removed with the object.
struct PrivateCopy {
  explicit PrivateCopy(const std::filesystem::path& record_db);
  ~PrivateCopy();
  PrivateCopy(const PrivateCopy&) = delete;
  PrivateCopy& operator=(const PrivateCopy&) = delete;
  std::filesystem::path dir;
};

// A histogram where it lies: copying one costs more than writing it.
struct LatencyView {
  std::string_view measure;
  const Histogram* histogram;
};

struct Record::Impl {
  std::filesystem::path dir;
  std::unique_ptr<PrivateCopy> copy;  // before db: outlives it
  std::unique_ptr<sqlite::Connection> db;
  std::unique_ptr<Inserts> inserts;  // null when opened for reading, or finished
  mutable std::mutex mutex;
  std::map<std::string, std::int64_t> sources;
  std::map<std::string, std::int64_t> operations;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> series;

  ~Impl();
  void begin();  // a transaction, unless one is open
  void commit();
  std::int64_t source_id(const std::string& name);
  std::int64_t operation_id(const std::string& name);
  std::int64_t series_id(const std::string& source, const std::string& name);
  void insert_interval(const IntervalRow& row, std::span<const LatencyView> latencies);
  void insert_latencies(std::int64_t interval, std::span<const LatencyView> latencies);
};

}  // namespace plimsoll
