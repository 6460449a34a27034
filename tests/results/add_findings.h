// What a run's end adds to its record.
#pragma once

#include "results/correlate/correlate.h"
#include "results/record/record.h"

namespace plimsoll {

inline void add_findings(Record& record) {
  for (const auto& finding : correlate(record)) record.add_finding(finding);
}

}  // namespace plimsoll
