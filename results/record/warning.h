// Everything that could make a number a lie, as a type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// How far a warning reaches: a note stands beside the figures; a doubt can make them wrong; an
// invalidating one turns the verdict into "invalid".
enum class Severity { kNote, kDoubt, kInvalidates };

struct Warning {
  std::string id;    // a row of kWarnings, e.g. "cached"; also the name for --accept
  std::string text;  // one sentence with this run's figures
};

struct WarningKind {
  std::string_view id;
  Severity severity;
  std::string_view meaning;  // what it does to the numbers, for docs and the report's fold-out
};

// All kinds there are; to write a warning whose id is not here is a programming error (asserted).
const std::vector<WarningKind>& warning_kinds();
// The row of `id`; for one that a later version wrote a row "unknown".
const WarningKind& warning_kind(std::string_view id);
std::string_view severity_name(Severity severity);  // "note", "doubt", "invalidates"

}  // namespace plimsoll
