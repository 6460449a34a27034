// The tables of record.db, version 1. docs/record.md describes them for those who query it.
#pragma once

namespace plimsoll {

// "Plim" in ASCII: what makes `file` and others know a record from another SQLite database.
inline constexpr int kApplicationId = 0x506c696d;

extern const char* const kSchema;

}  // namespace plimsoll
