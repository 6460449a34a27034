// A raw run in the shape of fio's JSON, for scripts that read that.
#pragma once

#include "results/record/record.h"

namespace plimsoll {

// fio's json+ object: {"fio version", "timestamp", "jobs": [...], ...}, one job a raw part of the
// record. clat_ns and lat_ns are service times (from just before the submit call), response times
// are beside them as "plimsoll_response_ns"; what Plimsoll doesn't measure is 0, as in fio. Throws
// UsageError when the record has no raw part.
Json render_fio_json(const Record& record);

}  // namespace plimsoll
