// What of the drive and its file system could make a run's numbers a lie.
#pragma once

#include <cstdint>

#include "rawio/device/identity.h"
#include "results/record/record.h"

namespace plimsoll::cli {

// Warns of barriers off, a record on the drive under test, a volatile write cache, a nearly full
// file system, a virtual machine. Writes the drive's identity into the record's environment.
void describe_target(Record& record, const DeviceStack& stack);

// Warns when `bytes` of data fit into the machine's memory.
void warn_if_cached(Record& record, std::uint64_t bytes);

}  // namespace plimsoll::cli
