// What of the drive and its file system could make a run's numbers a lie.
#pragma once

#include "oltp/database/database.h"
#include "rawio/device/identity.h"
#include "results/record/record.h"

namespace plimsoll::cli {

// Warns of barriers off, a record on the drive under test, a volatile write cache, a nearly full
// file system, a virtual machine. Writes the drive's identity into the record's environment.
void describe_target(Record& record, const DeviceStack& stack);

// Warns when the database fits into the memory that it and its page cache may fill.
void warn_if_cached(Record& record, Database& database);

}  // namespace plimsoll::cli
