// Small records for the tests of results/record.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/base/units.h"
#include "results/record/record.h"

namespace plimsoll::samples {


// The `second`-th second of an operation, closed loop, with these latencies.
inline IntervalRow interval(const Part& part, const std::string& source,
                            const std::string& operation, int second,
                            const std::vector<std::int64_t>& latencies_ns) {
  IntervalRow row;
  row.part = part.id;
  row.source = source;
  row.operation = operation;
  row.start_ns = second * kSecond_ns;
  row.end_ns = (second + 1) * kSecond_ns;
  row.count = latencies_ns.size();
  Histogram histogram;
  for (const std::int64_t value : latencies_ns) histogram.record(value);
  row.latencies = {{"response", histogram}, {"service", histogram}};
  return row;
}

inline RunSpec spec() {
  RunSpec spec;
  spec.command = "raw";
  spec.target = "/mnt/x";
  spec.argv = {"plimsoll", "raw", "/mnt/x"};
  return spec;
}

// A finished record of one part "p" with that many seconds of reads.
inline void write(const std::filesystem::path& dir, int seconds) {
  Record record = Record::create(dir, spec());
  const Part part = record.begin_part("p", "raw", Json::object(), 0);
  for (int second = 0; second < seconds; ++second) {
    record.add_interval(interval(part, "raw", "read", second, {1000, 2000, 3000}));
    record.commit();
  }
  record.end_part(part, seconds * kSecond_ns, Json::object());
  record.finish(seconds * kSecond_ns);
}

// A record as a killed run leaves it: journal and all. The writer lives on, in
// this process, beside the copy in `dir`/cut.
struct CutRun {
  explicit CutRun(const std::filesystem::path& dir) : record(Record::create(dir / "live", spec())) {
    const Part part = record.begin_part("p", "raw", Json::object(), 0);
    for (int second = 0; second < 5; ++second) {
      record.add_interval(interval(part, "raw", "read", second, {1000}));
    }
    record.commit();
    std::filesystem::create_directories(dir / "cut");
    std::filesystem::copy_file(dir / "live/record.db", dir / "cut/record.db");
    std::filesystem::copy_file(dir / "live/record.db-wal", dir / "cut/record.db-wal");
  }
  Record record;
};

inline std::size_t seconds_in(const std::filesystem::path& dir) {
  const Record record = Record::open(dir);
  return record.intervals(record.parts().at(0), "raw").size();
}

}  // namespace plimsoll::samples
