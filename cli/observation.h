// The Observer around a run: what the drive and the machine did in the same seconds.
#pragma once

#include <map>
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

  // After the last run: warns where other processes used the drives while we measured, with their
  // share.
  void finish();

 private:
  void begin(std::int64_t now_ns);
  void tick(const Part& part, std::int64_t now_ns, bool measured);
  void add_shares(const ObserverSample& sample);

  // Of a drive, while measured; kernel threads' I/O may be anyone's.
  struct Shares {
    double ours_ops = 0;
    double rest_ops = 0;
    double kernel_ops = 0;
    double rest_bytes = 0;
    double all_bytes = 0;
  };

  Record& record_;
  const DeviceStack& stack_;
  StartedObserver started_;  // without an observer until the first part, or when none can be had
  bool refused_ = false;
  SystemSampler system_;
  std::map<std::string, Shares> shares_;  // by the device's name
};

}  // namespace plimsoll::cli
