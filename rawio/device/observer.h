// What the devices did in each interval of a run, whoever asked them to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rawio/device/identity.h"
#include "results/record/record.h"

namespace plimsoll {

struct SampledValue {
  std::string source;  // "device:vda", "psi", "cpu", "memory"
  std::string name;    // "in_flight"
  std::int64_t at_ns;  // Clock
  double value;
};

// One interval. What could not be seen is absent, never 0.
struct ObserverSample {
  std::vector<IntervalRow> rows;  // source "device:NAME"; part and measured are the writer's
  std::vector<SampledValue> points;
  std::vector<Warning> warnings;
};

// Whose I/O is to be told apart from everyone else's: these processes, and the children they fork
// from then on.
struct OwnProcesses {
  std::vector<int> ids;  // none: nobody's
  bool rows = false;     // also rows with histograms of each group: source "device:NAME (ours)"
};

// Adds a sample to the record as of `part`; commits nothing.
void write_sample(Record& record, const Part& part, bool measured, const ObserverSample& sample);

// Watches every level of a device stack. Used by one thread. An observer that meets trouble during
// a run (a device that vanishes, lost events) says so in the sample's warnings and goes on with
// what is left; only start() throws, RefusedError, when this machine or user can't have it at all.
class Observer {
 public:
  virtual ~Observer() = default;

  // To be called before start(); one that can't tell processes apart does nothing.
  virtual void tell_apart(const OwnProcesses&) {}

  // Counts from now on. `now_ns` is the Clock's.
  virtual void start(const DeviceStack& stack, std::int64_t now_ns) = 0;

  // What ended between the last sample (or start) and now: a row for each device and operation
  // ("read", "write", "flush", "discard"), rows of zeros included so that a stall is no gap. Only
  // discard has no row in an interval without any.
  virtual ObserverSample sample(std::int64_t now_ns) = 0;

  // How it measures, for the record: {method, latency, resolution_ns, unseen: [words], devices}.
  virtual Json describe() const = 0;
};

// One row an observer, the best first.
struct ObserverKind {
  std::string_view name;
  std::string_view description;
  std::string_view unseen;  // what it cannot see
  std::unique_ptr<Observer> (*make)(const SystemRoots& roots);
  // Empty when this machine and user can have it; otherwise why not, and what mends it.
  std::string (*obstacle)();
};

const std::vector<ObserverKind>& observer_kinds();
// Throws UsageError naming those there are.
std::unique_ptr<Observer> make_observer(std::string_view name, const SystemRoots& roots = {});

// A better observer that couldn't be had.
struct MissedObserver {
  std::string name;
  std::string why;
};

struct StartedObserver {
  std::string name;
  std::unique_ptr<Observer> observer;
  std::vector<MissedObserver> missed;
};

// The best observer that this machine and user can have, started. Throws RefusedError when none
// can be had, saying why of each.
StartedObserver start_best_observer(const DeviceStack& stack, std::int64_t now_ns,
                                    const OwnProcesses& ours = {}, const SystemRoots& roots = {});

// describe() with the observer's name and those missed: for Record::set_environment("observer", …).
Json describe(const StartedObserver& started);

}  // namespace plimsoll
