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
    {"tmpfs", kInvalidates, "The target is memory, not a drive."},
    {"errors", kInvalidates,
     "Operations failed; failed ones are in no latency and no rate, so the figures are too "
     "good."},
    // what can make figures wrong
    {"cached", kDoubt,
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
    {"saturated-load-generator", kDoubt,
     "The load generator itself was the limit: the drive could have done more."},
    {"shared-drive", kDoubt,
     "Others used the drive during the run (the record, if it lies there): their I/O is in its "
     "series and slowed ours."},
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
    {"observer-lost", kDoubt,
     "The observer lost device events: device counts and histograms are too low."},
    {"iostats-off", kDoubt,
     "The kernel kept no statistics of the drive: its series has counts missing or none at all."},
    {"device-vanished", kDoubt,
     "A watched device went away during the run: its series ends there and its counts are too "
     "low."},
    {"observer-missing", kDoubt,
     "The device couldn't be observed: what of a transaction is the drive's is unknown."},
    {"volatile-cache", kDoubt,
     "The write cache is volatile and writes weren't flushed: they needn't have reached the "
     "medium."},
    // what should be known beside them
    {"unbounded-memory", kNote,
     "The database's memory wasn't limited: it can serve reads from all of the machine's."},
    {"interrupted", kNote, "The run was stopped by the user; what was measured until then stands."},
    {"facility-missing", kNote, "Something asked wasn't to be had; the run went on without it."},
    {"virtual-machine", kNote,
     "This is a virtual machine: host caches and neighbours lie between it and the drive."},
    {"write-cache", kNote, "The drive's volatile write cache is on, as most systems run it."},
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
