#include "cli/observation.h"

#include <fmt/format.h>
#include <unistd.h>

#include "results/base/error.h"

namespace plimsoll::cli {

Observation::Observation(Record& record, const DeviceStack& stack)
    : record_(record), stack_(stack) {}

void Observation::begin(std::int64_t now_ns) {
  system_.start(now_ns);
  if (refused_) return;
  try {
    if (started_.observer) {
      started_.observer->start(stack_, now_ns);
    } else {
      started_ = start_best_observer(stack_, now_ns, {.ids = {getpid()}});
      record_.set_environment("observer", describe(started_));
    }
  } catch (const RefusedError& error) {
    record_.warn({"observer-missing", error.what()});
    refused_ = true;
  }
}

void Observation::tick(const Part& part, std::int64_t now_ns, bool measured) {
  if (!refused_) {
    const auto sample = started_.observer->sample(now_ns);
    write_sample(record_, part, measured, sample);
    if (measured) add_shares(sample);
  }
  write_sample(record_, part, measured, system_.sample(now_ns));
}

void Observation::add_shares(const ObserverSample& sample) {
  const std::string device = "device:";
  for (const auto& point : sample.points) {
    if (!point.source.starts_with(device)) continue;
    auto& shares = shares_[point.source.substr(device.size())];
    if (point.name == "ours_ops") shares.ours_ops += point.value;
    if (point.name == "rest_ops") shares.rest_ops += point.value;
    if (point.name == "kernel_ops") shares.kernel_ops += point.value;
    if (point.name == "rest_bytes") shares.rest_bytes += point.value;
    if (point.name.ends_with("_bytes")) shares.all_bytes += point.value;
  }
}

void Observation::finish() {
  constexpr double kWorthSaying_pct = 1;
  for (const BlockDevice* drive : stack_.drives()) {
    const auto found = shares_.find(drive->name);
    if (found == shares_.end()) continue;
    const auto& shares = found->second;
    const double all_ops = shares.ours_ops + shares.rest_ops + shares.kernel_ops;
    // Without any of ours the kernel knows us by other numbers, as in a container.
    if (shares.ours_ops == 0) continue;
    const double ops_pct = 100 * shares.rest_ops / all_ops;
    const double bytes_pct = shares.all_bytes > 0 ? 100 * shares.rest_bytes / shares.all_bytes : 0;
    if (std::max(ops_pct, bytes_pct) < kWorthSaying_pct) continue;
    record_.warn({"shared-drive",
                  fmt::format("other processes did {:.0f} % of the I/Os and {:.0f} % of the bytes "
                              "on {} while it was measured",
                              ops_pct, bytes_pct, drive->node)});
  }
}

RunHooks Observation::raw_hooks(std::stop_token stop, ProgressSink progress) {
  RunHooks hooks;
  hooks.stop = std::move(stop);
  hooks.progress = std::move(progress);
  hooks.on_begin = [this](const Part&, std::int64_t now_ns) { begin(now_ns); };
  hooks.on_tick = [this](const Part& part, std::int64_t now_ns, bool measured) {
    tick(part, now_ns, measured);
  };
  return hooks;
}

OltpHooks Observation::oltp_hooks(std::stop_token stop, ProgressSink progress) {
  OltpHooks hooks;
  hooks.progress = std::move(progress);
  hooks.stop = std::move(stop);
  hooks.on_start = [this](const Part&, std::int64_t now_ns) { begin(now_ns); };
  hooks.on_tick = [this](const Part& part, const OltpTick& now) {
    tick(part, now.end_ns, now.measured);
  };
  return hooks;
}

}  // namespace plimsoll::cli
