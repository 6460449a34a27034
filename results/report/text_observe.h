// What `plimsoll observe` saw of a device.
#pragma once

#include <string>

#include "results/record/record.h"
#include "results/report/report.h"

namespace plimsoll {

// I/Os a second by device and operation. `part` is an observed part's object.
std::string observe_sentence(const Json& part);
// A row for each device, operation and kind of latency.
std::string observe_table(const Json& part, const TextStyle& style);

}  // namespace plimsoll
