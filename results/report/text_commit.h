// What `plimsoll commit` found, the methods side by side.
#pragma once

#include <string>

#include "results/record/record.h"
#include "results/report/report.h"

namespace plimsoll {

// A sentence: the best of one committer and of all. `parts` is an array of raw part objects.
std::string commit_sentence(const Json& parts);
// Tables of commits a second, p50 and p99: a row for each number of committers, alone and grouped,
// a column for each method.
std::string commit_tables(const Json& parts, const TextStyle& style);
// The plausibility finding as a line; empty without one.
std::string plausibility_line(const Json& findings);

}  // namespace plimsoll
