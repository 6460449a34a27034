#include "results/record/warning.h"

#include <algorithm>

namespace plimsoll {

namespace {

using enum Severity;

// Ids never change their meaning: records and scripts hold them.
const std::vector<WarningKind> kWarningKinds = {
    // what invalidates a verdict on the drive
    {"not-durable", kInvalidates,
     "The database may confirm commits that the drive doesn't hold: its TPS isn't comparable."},
    {"lying-flush", kInvalidates,
     "The drive confirms flushes sooner than it can have written: commits may be lost at "
     "power-off."},
    {"saturated-load-generator", kInvalidates,
     "The load generator itself was the limit: the drive or database could have done more."},
    {"tmpfs", kInvalidates, "The target is memory, not a drive."},
    {"errors", kInvalidates,
     "Operations failed; failed ones are in no latency and no rate, so the figures are too "
     "good."},
    {"inconsistent", kInvalidates,
     "The database's contents broke a condition that the workload keeps: transactions went "
     "wrong."},
    {"lost-intervals", kInvalidates,
     "Intervals of the measured part are missing from the record: totals are too low."},
    // what can make figures wrong
    {"cached", kDoubt,
     "The data fits in memory, so reads are served without the drive: their latency is "
     "memory's."},
    {"fits-in-cache", kDoubt,
     "The database fits in memory or its own cache: the drive sees its writes but few reads."},
    {"no-direct-io", kDoubt,
     "The file system refuses O_DIRECT: the page cache stands between the figures and the "
     "drive."},
    {"buffered", kDoubt,
     "I/O went through the page cache, as asked: latencies are those of memory and writeback."},
    {"file-is-sparse", kDoubt,
     "Parts of the file were never written: reads of them needn't reach the drive's flash."},
    {"not-preconditioned", kDoubt,
     "The drive wasn't filled and driven to steady state: it may be faster than in a month."},
    {"no-steady-state", kDoubt,
     "Throughput was still drifting by SNIA's rule: a longer run would give another average."},
    {"shared-drive", kDoubt,
     "Others used the drive during the run: their I/O is in its series and slowed ours."},
    {"busy-machine", kDoubt,
     "Other processes used the processors during the run: latencies hold their share."},
    {"results-on-drive-under-test", kDoubt,
     "The record lies on the drive under test: writing it adds I/O (nothing is flushed "
     "meanwhile)."},
    {"behind-schedule", kDoubt,
     "The asked rate wasn't reached: response time holds the wait for a late start."},
    {"short-run", kDoubt,
     "Too few seconds or operations for the percentiles shown; the highest ones are single "
     "events."},
    {"unstable", kDoubt, "Repeats differ by more than the difference that is to be shown."},
    {"observer-lost", kDoubt,
     "The observer lost device events: device counts and histograms are too low."},
    {"iostats-off", kDoubt,
     "The kernel kept no statistics of the drive: its series has counts missing or none at all."},
    {"device-vanished", kDoubt,
     "A watched device went away during the run: its series ends there and its counts are too "
     "low."},
    {"observer-missing", kDoubt,
     "The device couldn't be observed: what of a transaction is the drive's is unknown."},
    {"counts-differ", kDoubt,
     "Plimsoll's I/O counts and the kernel's for the device differ: something else used it."},
    {"clock-skew", kDoubt,
     "The clocks of the machines differ by more than an interval may: their rows may not align."},
    {"clock-step", kDoubt, "The wall clock was set during the run: its times of day are off."},
    {"volatile-cache", kDoubt,
     "The write cache is volatile and writes weren't flushed: they needn't have reached the "
     "medium."},
    {"overhead", kDoubt, "Plimsoll's own measuring cost more than 3 % of the figures it took."},
    // what should be known beside them
    {"interrupted", kNote, "The run was stopped by the user; what was measured until then stands."},
    {"cut", kNote, "The run ended without its last words, as by a kill or a power loss."},
    {"facility-missing", kNote, "Something asked wasn't to be had; the run went on without it."},
    {"virtual-machine", kNote,
     "This is a virtual machine: host caches and neighbours lie between it and the drive."},
    {"write-cache", kNote, "The drive's volatile write cache is on, as most systems run it."},
    {"slow-clock", kNote,
     "The kernel's clock source is slow: each reading adds to short latencies."},
    {"low-space", kNote,
     "The file system is nearly full: drives and file systems slow down there."},
    {"worn", kNote, "The drive reports wear or errors of its own in its health data."},
};

}  // namespace

const std::vector<WarningKind>& warning_kinds() {
  return kWarningKinds;
}

const WarningKind& warning_kind(std::string_view id) {
  // A record of a later version may hold one that isn't in the table.
  static const WarningKind unknown = {
      "unknown", Severity::kDoubt, "A kind of warning that this version of Plimsoll doesn't know."};
  const auto& kinds = warning_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const WarningKind& kind) { return kind.id == id; });
  return found != kinds.end() ? *found : unknown;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kDoubt:
      return "doubt";
    case Severity::kInvalidates:
      return "invalidates";
  }
  return "doubt";
}

}  // namespace plimsoll
