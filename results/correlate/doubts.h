// What in a record could make its figures a lie, as far as the record itself can tell.
#pragma once

#include <vector>

#include "results/record/record.h"

namespace plimsoll {

// Pure and deterministic; the caller stores them (Record::warn) before it renders a report. At most
// one of each kind, about the worst part:
// - "shared-drive": the drive moved over a tenth (and 4 MiB) more bytes than a raw part asked for;
//   not where the run itself has said it, having told processes apart;
// - "busy-machine": other processes' user time took over 15 % of the processors;
// - "saturated-load-generator": the threads of a raw part were on a processor for over 95 % of it;
// - "short-run": a p99 that rests on fewer than 1,000 operations, so on fewer than ten.
std::vector<Warning> find_doubts(const Record& record);

}  // namespace plimsoll
