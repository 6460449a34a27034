#include "cli/drive_health.h"

#include "rawio/device/health_change.h"
#include "results/base/error.h"

namespace plimsoll::cli {

DriveHealthWatch::DriveHealthWatch(Record& record, const DeviceStack& stack) : record_(record) {
  for (const auto* drive : stack.drives()) {
    drives_.push_back(*drive);
    before_.push_back(read_health(*drive));
    if (before_.back().failing == true) {
      record.warn({"worn", drive->node + " calls itself failing: " + describe(before_.back())});
    }
  }
}

// A record that takes no more rows says so itself, at the run's end.
DriveHealthWatch::~DriveHealthWatch() {
  try {
    finish();
  } catch (const Error&) {
  }
}

void DriveHealthWatch::finish() {
  Json all = Json::array();
  for (std::size_t i = 0; i < drives_.size(); ++i) {
    const DriveHealth after = read_health(drives_[i]);
    const HealthChange change = health_change(before_[i], after);
    all.push_back({{"drive", drives_[i].node},
                   {"before", to_json(before_[i])},
                   {"after", to_json(after)},
                   {"change", to_json(change)}});
    const auto text = concerns(change);
    if (!text.empty()) record_.warn({"worn", drives_[i].node + " during the run: " + text});
  }
  record_.set_environment("health", all);
}

}  // namespace plimsoll::cli
