// The database's own figures and waits during a run, as series.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "oltp/database/database.h"
#include "results/measure/clock.h"
#include "results/record/record.h"

namespace plimsoll {

// A thread that asks a DbProbe: each second for its figures, ten times a second for its waits. What
// it found waits here for the thread that writes the record. Series of source "database": a total
// as its growth a second, a level as it is; "wait:NAME", the sessions that waited for it, averaged
// over the second's samples; "sampling_ns", what the asking took of that second. PostgreSQL's
// checkpoints are events.
class DatabaseSeries {
 public:
  // `probe` may be null: then there is nothing. Starts.
  DatabaseSeries(std::unique_ptr<DbProbe> probe, Clock& clock);
  ~DatabaseSeries();  // ends
  DatabaseSeries(const DatabaseSeries&) = delete;
  DatabaseSeries& operator=(const DatabaseSeries&) = delete;

  // What was found since the last call goes into the record.
  void drain(Record& record, const Part& part);

 private:
  struct Point {
    std::string name;
    std::int64_t at_ns;
    double value;
  };
  void run(const std::stop_token& stop);
  void sample_waits();
  void sample_figures();
  void take_figures(const std::vector<DbFigure>& figures, std::int64_t at_ns);
  void watch_checkpoint(std::int64_t at_ns);
  void add(std::string name, std::int64_t at_ns, double value);

  const std::unique_ptr<DbProbe> probe_;
  Clock& clock_;
  std::map<std::string, double> totals_;  // as last told
  std::map<std::string, double> growth_;  // since the time before
  std::int64_t last_ns_ = 0;              // when; 0: never
  std::map<std::string, int> waits_;      // summed over the samples of this second
  int samples_ = 0;
  std::int64_t asking_ns_ = 0;

  std::mutex mutex_;
  std::vector<Point> points_;
  std::vector<Event> events_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace plimsoll
