#include "cli/observation.h"

#include "results/base/error.h"

namespace plimsoll::cli {

Observation::Observation(Record& record, const DeviceStack& stack)
    : record_(record), stack_(stack), observer_(make_observer("stat")) {}

void Observation::begin(std::int64_t now_ns) {
  system_.start(now_ns);
  if (!observer_) return;
  try {
    observer_->start(stack_, now_ns);
    record_.set_environment("observer", observer_->describe());
  } catch (const RefusedError& error) {
    record_.warn({"observer-missing", error.what()});
    observer_.reset();
  }
}

void Observation::tick(const Part& part, std::int64_t now_ns, bool measured) {
  if (observer_) write_sample(record_, part, measured, observer_->sample(now_ns));
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
