#include "cli/raw_targets.h"

#include "cli/target_warnings.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

TargetOptions target_options(const PlannedTarget& planned, const TargetConsent& consent,
                             const CommonOptions& options) {
  TargetOptions target;
  target.path = planned.path;
  target.file_size_bytes = planned.file_size_bytes;
  target.offset_bytes = planned.offset_bytes;
  target.writes = planned.changes;
  target.keep = consent.keep;
  target.overwrite = consent.overwrite;
  target.erase.erase = !consent.erase.empty();
  if (consent.erase != "true") target.erase.named = consent.erase;
  target.erase.results_dir = options.out.empty() ? fs::path("results") / "runs" : options.out;
  target.accept_buffered = options.accepts("no-direct-io");
  target.accept_sparse = options.accepts("file-is-sparse");
  return target;
}

// What a target stands on; a file that is still to be made stands on its folder.
DeviceStack identify_target(const std::string& target) {
  const fs::path path(target);
  if (fs::exists(path)) return identify(path);
  return identify(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

}  // namespace

void add_consent_options(CLI::App& command, TargetConsent& consent) {
  command.add_flag("--keep", consent.keep, "Keep the file that was made, under TARGET's name");
  command.add_flag("--overwrite", consent.overwrite, "Write into an existing file");
  command.add_flag("--erase", consent.erase,
                   "Write to a block device; --erase=SERIAL also over what is on it");
}

void add_stack(DeviceStack& stack, const DeviceStack& more) {
  std::vector<BlockDevice> levels;
  for (const auto& level : more.levels) {
    if (stack.find(level.name) == nullptr) levels.push_back(level);
  }
  levels.insert(levels.end(), stack.levels.begin(), stack.levels.end());
  stack.levels = std::move(levels);
}

RawTargets::RawTargets(const std::vector<PlannedTarget>& planned, const TargetConsent& consent,
                       const CommonOptions& options) {
  for (const auto& target : planned) {
    targets_.push_back(RawTarget::open(target_options(target, consent, options)));
    const DeviceStack stack = identify_target(target.path);
    if (targets_.size() == 1) {
      stack_ = stack;
    } else {
      add_stack(stack_, stack);
    }
  }
}

std::vector<TargetShape> RawTargets::shapes() const {
  std::vector<TargetShape> shapes;
  for (const auto& target : targets_) shapes.push_back(target.shape());
  return shapes;
}

std::vector<RawTarget*> RawTargets::all() {
  std::vector<RawTarget*> targets;
  for (auto& target : targets_) targets.push_back(&target);
  return targets;
}

void RawTargets::describe_in(Record& record) const {
  describe_target(record, stack_);
  for (const auto& target : targets_) {
    for (const auto& warning : target.warnings()) record.warn(warning);
  }
}

void RawTargets::fill(std::uint64_t seed, const std::stop_token& stop,
                      const ProgressSink& progress) {
  for (std::size_t i = 0; i < targets_.size(); ++i) targets_[i].fill(seed + i, stop, progress);
}

void RawTargets::keep_if_asked() {
  for (auto& target : targets_) target.keep_if_asked();
}

void RawTargets::check_written(const IoWorkload& workload) {
  for (const auto& stream : workload.streams) {
    if (!stream.reads()) continue;
    RawTarget& target = targets_[stream.target];
    const std::uint64_t rest = target.shape().size_bytes - stream.span_offset_bytes;
    target.check_written(stream.span_offset_bytes, stream.span_bytes ? stream.span_bytes : rest);
  }
}

}  // namespace plimsoll::cli
