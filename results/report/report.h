// A record in, a report out. Pure: nothing is measured, and nothing is shown that is not in the
// record or computed from it here. All three throw what reading the record throws.
#pragma once

#include <string>

#include "results/record/record.h"

namespace plimsoll {

struct TextStyle {
  bool colour = false;  // ANSI colours; never needed to understand the text
};

// The summary of a run, at most 80 columns, numbers in the C locale. The answer first, its reasons
// next, then how far to trust it, the record and how to repeat it. A run that was cut says so.
std::string render_text(const Record& record, const TextStyle& style = {});

// The object that --json prints: the common keys, then those of the command. Keys are snake_case,
// durations _ns, sizes _bytes; what is not known is null, never 0 or nan.
Json render_json(const Record& record);

// One self-contained HTML page, which opens offline and requests nothing.
std::string render_html(const Record& record);

}  // namespace plimsoll
