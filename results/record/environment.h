// What of the machine could explain a number.
#pragma once

#include <nlohmann/json.hpp>

namespace plimsoll {

// The machine as it is now: host name, CPU model, cores, memory_bytes, kernel, os, clocksource,
// virtualisation, load averages, limits (locked memory, open files), user id, CPU frequency
// governor, pressure. What can't be read is null. Takes about a millisecond; never throws. The
// drive, its file system and the database are captured by who knows them.
nlohmann::ordered_json capture_machine();

}  // namespace plimsoll
