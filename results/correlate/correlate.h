// What moves with what, in a finished record.
#pragma once

#include <vector>

#include "results/record/record.h"

namespace plimsoll {

// Findings about every database part of the record, over its measured intervals. Pure and
// deterministic: the caller stores them (Record::add_finding) before it renders a report. Each is
// an object with `kind`, `part` (its name), `text` (one sentence), and by kind:
//
// "steadiness": `seconds`, `tps_mean` (of the steps, each alike), `tps_cv` (their standard
//   deviation / mean), `step_s`, `worst` {`offset_s` from the start of the measured part, `tps`,
//   `response_p99_ns`, `beside` [{`source`, `name`, `unit`, `value`, `median`}]}: what the device
//   did in that second and in the median one. It names no cause.
//
// "correlation": `target` ("tps", "response_mean", "response_p99"), `source` and `name` of the
//   other series, `follows_load` (a rate, which rises with the load for sure), `outcome` ("ok",
//   "not enough seconds", "no variation"), `n` (pairs), and, when ok, `rho` (Spearman's), `lag_s`
//   (how long the target comes after the series), `low` and `high` (95 % interval of rho),
//   `n_effective`, `p` (two-sided, corrected for the choice of lag), `q` (p corrected for the
//   number of pairs tried in this part, Benjamini-Hochberg; those that follow the load apart from
//   the rest) and `significant` (q <= 0.05).
std::vector<Json> correlate(const Record& record);

}  // namespace plimsoll
