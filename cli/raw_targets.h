// The targets of a raw run: several drives or files, opened and safe.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "rawio/device/identity.h"
#include "rawio/workload/target.h"
#include "results/record/record.h"

namespace plimsoll::cli {

// What the user allows to happen to targets.
struct TargetConsent {
  bool keep = false;
  bool overwrite = false;
  std::string erase;  // "true": --erase; else what follows --erase=
};

// Declares --keep, --overwrite and --erase.
void add_consent_options(CLI::App& command, TargetConsent& consent);

struct PlannedTarget {
  std::string path;
  std::uint64_t file_size_bytes = 0;  // of a file to be made
  bool changes = false;
  std::uint64_t offset_bytes = 0;  // of that size, what lies before the part that is used
};

class RawTargets {
 public:
  // Opens all, or none. Throws as RawTarget::open.
  RawTargets(const std::vector<PlannedTarget>& planned, const TargetConsent& consent,
             const CommonOptions& options);

  std::vector<TargetShape> shapes() const;
  std::vector<RawTarget*> all();
  RawTarget& operator[](std::size_t index) { return targets_[index]; }
  // What all stand on, together. Levels stand before those beneath them.
  const DeviceStack& stack() const { return stack_; }

  // The drives and what of them could make a number a lie.
  void describe_in(Record& record) const;
  void fill(std::uint64_t seed, const std::stop_token& stop, const ProgressSink& progress);
  void keep_if_asked();
  // Throws RefusedError where a stream would read what was never written.
  void check_written(const IoWorkload& workload);

 private:
  std::vector<RawTarget> targets_;
  DeviceStack stack_;
};

// `more` beside `stack`; each level is there once. The path and file system are those of `stack`.
void add_stack(DeviceStack& stack, const DeviceStack& more);

}  // namespace plimsoll::cli
