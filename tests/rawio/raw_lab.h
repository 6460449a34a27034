// A record and a made file for tests of whole runs.
#pragma once

#include <filesystem>
#include <string>

#include "rawio/workload/run_raw.h"
#include "tests/lab/block_devices.h"

namespace plimsoll::test {

constexpr std::int64_t kMilli_ns = 1'000'000;

inline RunSpec raw_spec() {
  RunSpec spec;
  spec.command = "raw";
  return spec;
}

// A record, and a made file of 4 MiB to run on.
struct RawLab {
  lab::DeviceDir results;
  Record record = Record::create(results.path() / "run", raw_spec());
  RawTarget target = RawTarget::open(options());

  static TargetOptions options() {
    TargetOptions options;
    options.path = std::filesystem::current_path().string();
    options.file_size_bytes = 4 << 20;
    options.writes = true;
    return options;
  }
  RawResult run(const IoWorkload& workload, const RunHooks& hooks = {}) {
    RawTarget* const targets[] = {&target};
    return run_raw(workload, targets, record, hooks);
  }
};

inline IoWorkload short_workload(const std::string& engine) {
  IoWorkload workload;
  workload.engine = engine;
  workload.runtime_ns = 200 * kMilli_ns;
  workload.interval_ns = 50 * kMilli_ns;
  return workload;
}

}  // namespace plimsoll::test
