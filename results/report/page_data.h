// What the page draws: the summary, and what only charts need.
#pragma once

#include "results/record/record.h"

namespace plimsoll {

// {`run`: render_json's object, `repeat`: the command as one can paste it, `parts`: one object a
// part of the record, in its order:
//   `name`, `kind`,
//   `timeline`: null or {`step_s`, `time_s` [start of each step, 0 = measured from here on],
//     `measured` [], `series` [{`source`, `name`, `unit`, `values` []}]} (see timeline.h),
//   `percentiles`: [{`source`, `operation`, `measure`, `count`, `points` [[1/(1-p), ns] …]}] of the
//     measured part, as far as the count goes; the last point is the maximum,
//   `events`: [{`at_s`, `length_s`, `kind`, `text`}] within the part}
Json page_data(const Record& record);

}  // namespace plimsoll
