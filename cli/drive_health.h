// The drives' health before and after a run.
#pragma once

#include <vector>

#include "rawio/device/health.h"
#include "rawio/device/identity.h"
#include "results/record/record.h"

namespace plimsoll::cli {

// Reads the health of a stack's drives when made and again at its end, however the run ended, and
// puts both with the difference into the record's environment ("health"). Warns of a drive that
// calls itself failing, or that the run brought new media errors or throttling.
class DriveHealthWatch {
 public:
  DriveHealthWatch(Record& record, const DeviceStack& stack);
  ~DriveHealthWatch();
  DriveHealthWatch(const DriveHealthWatch&) = delete;
  DriveHealthWatch& operator=(const DriveHealthWatch&) = delete;

 private:
  void finish();

  Record& record_;
  std::vector<BlockDevice> drives_;
  std::vector<DriveHealth> before_;
};

}  // namespace plimsoll::cli
