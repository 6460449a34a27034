// sysbench's own report lines, for parsers that read them.
#pragma once

#include <string>

#include "results/record/record.h"

namespace plimsoll {

// The last database part of the record as sysbench 1.0 prints a run, without the fairness of its
// threads, which no record holds. Events are committed transactions, and queries theirs; "ignored
// errors" are repeats; latency is response time. `percentile`: 0..100, one line. Throws UsageError
// when there is no such part.
std::string render_sysbench(const Record& record, double percentile);

}  // namespace plimsoll
