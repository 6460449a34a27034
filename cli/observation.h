// The Observer around a run: what the drive and the machine did in the same seconds.
#pragma once

#include <memory>
#include <string>

#include "oltp/terminal/run_oltp.h"
#include "rawio/device/observer.h"
#include "rawio/device/system_sampler.h"
#include "rawio/workload/run_raw.h"

namespace plimsoll::cli {

// Watches a device stack and the machine over the parts of one record. A machine that can't be
// observed is a typed warning in the record, not an end. Used by the thread that writes the record;
// must outlive the hooks it gives.
class Observation {
 public:
  Observation(Record& record, const DeviceStack& stack);

  RunHooks raw_hooks(std::stop_token stop, ProgressSink progress);
  OltpHooks oltp_hooks(std::stop_token stop, ProgressSink progress);

 private:
  void begin(std::int64_t now_ns);
  void tick(const Part& part, std::int64_t now_ns, bool measured);

  Record& record_;
  const DeviceStack& stack_;
  StartedObserver started_;  // without an observer until the first part, or when none can be had
  bool refused_ = false;
  SystemSampler system_;
};

}  // namespace plimsoll::cli
