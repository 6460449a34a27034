#include "cli/observation.h"

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
      started_ = start_best_observer(stack_, now_ns);
      record_.set_environment("observer", describe(started_));
    }
  } catch (const RefusedError& error) {
    record_.warn({"observer-missing", error.what()});
    refused_ = true;
  }
}

void Observation::tick(const Part& part, std::int64_t now_ns, bool measured) {
  if (!refused_) write_sample(record_, part, measured, started_.observer->sample(now_ns));
  write_sample(record_, part, measured, system_.sample(now_ns));
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
