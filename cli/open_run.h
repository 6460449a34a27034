// Finding the record that a user means.
#pragma once

#include <string>

#include "results/record/record.h"

namespace plimsoll::cli {

// `run` is a run's folder, its record.db, or "latest": the newest in results/runs. Throws
// UsageError, as Record::open.
Record open_run(const std::string& run);

}  // namespace plimsoll::cli
