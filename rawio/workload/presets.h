// How databases use their drives, as rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rawio/workload/io_workload.h"

namespace plimsoll {

// One I/O pattern of a database, or several that run side by side on parts of one drive.
struct Preset {
  std::string_view name;
  std::string_view description;
  std::vector<std::string_view> streams;  // of preset_streams()
};

// The log of a preset of several streams has a part of the span of its own; pages have the rest.
enum class PresetPlace { kWhole, kLog, kPages };

struct PresetStream {
  IoStream stream;  // named; no span
  PresetPlace place = PresetPlace::kWhole;
};

const std::vector<Preset>& presets();
const std::vector<PresetStream>& preset_streams();

// The streams of a preset over [offset, offset + span) of a target, placed apart where they write.
// psync has depth 1: there each request in flight becomes a job. Blocks below the logical one of
// the target are raised to it, as the database does. Throws UsageError: no such preset (naming
// those there are), or a span too small for it.
std::vector<IoStream> make_preset(std::string_view name, std::uint64_t offset_bytes,
                                  std::uint64_t span_bytes, std::string_view engine,
                                  std::uint32_t logical_block_bytes = 512);
// Does it write?
bool preset_changes(std::string_view name);

}  // namespace plimsoll
