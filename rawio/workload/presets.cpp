#include "rawio/workload/presets.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/base/error.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kKi = 1024;
// The part of a span that a log has beside pages, and what both are rounded to.
constexpr std::uint64_t kLogShare = 8;
constexpr std::uint64_t kPlace_bytes = 4ull << 20;

const PresetStream& preset_stream(std::string_view name) {
  const auto& all = preset_streams();
  return *std::find_if(all.begin(), all.end(),
                       [&](const PresetStream& row) { return row.stream.name == name; });
}

const Preset& find_preset(std::string_view name) {
  std::string known;
  for (const auto& preset : presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  throw UsageError(fmt::format("no preset \"{}\": there are {}", name, known));
}

void put_in_place(IoStream& stream, PresetPlace place, std::uint64_t offset, std::uint64_t span) {
  const std::uint64_t log_bytes = span / kLogShare / kPlace_bytes * kPlace_bytes;
  if (place != PresetPlace::kWhole && log_bytes == 0) {
    throw UsageError(fmt::format("{} are too few for a log beside pages: {} at least",
                                 format_size(span), format_size(kLogShare * kPlace_bytes)));
  }
  stream.span_offset_bytes = place == PresetPlace::kPages ? offset + log_bytes : offset;
  stream.span_bytes = place == PresetPlace::kWhole ? span
                      : place == PresetPlace::kLog ? log_bytes
                                                   : span - log_bytes;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> rows = {
      {"innodb-redo", "redo log: 8k appends (innodb_log_write_ahead_size), fsync each", {"redo"}},
      {"innodb-page-flush",
       "page cleaner: 1m doublewrite batches and 16k random pages, both fsynced",
       {"doublewrite", "page-flush"}},
      {"innodb-page-read", "buffer pool misses: 16k random reads", {"innodb-read"}},
      {"innodb",
       "redo log, page cleaner and reads side by side",
       {"redo", "page-flush", "innodb-read"}},
      {"postgresql-wal", "WAL: 8k appends, fdatasync each", {"wal"}},
      {"postgresql-page-read", "shared-buffer misses: 8k random reads", {"postgresql-read"}},
      {"postgresql-checkpoint",
       "checkpoint: 8k pages, 256k under way (checkpoint_flush_after), fsync each 1g segment",
       {"checkpoint"}},
      {"postgresql",
       "WAL, checkpoint and reads side by side",
       {"wal", "checkpoint", "postgresql-read"}},
      {"sqlserver-log", "log: appends of 512 bytes to 60k, written through", {"sqlserver-log"}},
      {"sqlserver-page-read", "buffer misses: 8k random reads", {"sqlserver-read"}},
      {"sqlserver-lazy-writer",
       "lazy writer and checkpoint: random writes of 8k to 256k",
       {"lazy-writer"}},
      {"sqlserver-read-ahead", "scans: sequential reads of 64k to 256k", {"read-ahead"}},
      {"sqlserver-backup", "backup: sequential reads of 4m", {"backup"}},
      {"sqlserver",
       "log, lazy writer and reads side by side",
       {"sqlserver-log", "lazy-writer", "sqlserver-read"}},
  };
  return rows;
}

const std::vector<PresetStream>& preset_streams() {
  using enum AccessPattern;
  static const std::vector<PresetStream> rows = {
      {{.name = "redo",
        .read_percent = 0,
        .blocks = {{8 * kKi, 100}},
        .pattern = kSequential,
        .fsync_every = 1},
       PresetPlace::kLog},
      {{.name = "doublewrite",
        .read_percent = 0,
        .blocks = {{1024 * kKi, 100}},
        .pattern = kSequential,
        .fsync_every = 1},
       PresetPlace::kLog},
      {{.name = "page-flush",
        .read_percent = 0,
        .blocks = {{16 * kKi, 100}},
        .depth = 32,
        .fsync_every = 64},
       PresetPlace::kPages},
      {{.name = "innodb-read", .blocks = {{16 * kKi, 100}}, .depth = 16}, PresetPlace::kPages},
      {{.name = "wal",
        .read_percent = 0,
        .blocks = {{8 * kKi, 100}},
        .pattern = kSequential,
        .fdatasync_every = 1},
       PresetPlace::kLog},
      {{.name = "checkpoint",
        .read_percent = 0,
        .blocks = {{8 * kKi, 100}},
        .depth = 32,
        .fsync_every = 131'072},
       PresetPlace::kPages},
      {{.name = "postgresql-read", .blocks = {{8 * kKi, 100}}, .depth = 16}, PresetPlace::kPages},
      {{.name = "sqlserver-log",
        .read_percent = 0,
        .blocks = {{512, 20}, {4 * kKi, 40}, {16 * kKi, 25}, {60 * kKi, 15}},
        .pattern = kSequential,
        .depth = 4,
        .write_sync = WriteSync::kEach},
       PresetPlace::kLog},
      {{.name = "sqlserver-read", .blocks = {{8 * kKi, 100}}, .depth = 32}, PresetPlace::kPages},
      {{.name = "lazy-writer",
        .read_percent = 0,
        .blocks = {{8 * kKi, 60}, {64 * kKi, 25}, {256 * kKi, 15}},
        .depth = 32},
       PresetPlace::kPages},
      {{.name = "read-ahead",
        .blocks = {{64 * kKi, 50}, {256 * kKi, 50}},
        .pattern = kSequential,
        .depth = 8}},
      {{.name = "backup", .blocks = {{4096 * kKi, 100}}, .pattern = kSequential, .depth = 8}},
  };
  return rows;
}

bool preset_changes(std::string_view name) {
  const auto& names = find_preset(name).streams;
  return std::any_of(names.begin(), names.end(), [](std::string_view stream) {
    return preset_stream(stream).stream.changes();
  });
}

std::vector<IoStream> make_preset(std::string_view name, std::uint64_t offset_bytes,
                                  std::uint64_t span_bytes, std::string_view engine,
                                  std::uint32_t logical_block_bytes) {
  const Preset& preset = find_preset(name);
  std::vector<IoStream> streams;
  for (const auto stream_name : preset.streams) {
    const auto& row = preset_stream(stream_name);
    IoStream stream = row.stream;
    const bool alone = preset.streams.size() == 1;
    put_in_place(stream, alone ? PresetPlace::kWhole : row.place, offset_bytes, span_bytes);
    for (auto& block : stream.blocks) {
      block.size_bytes = std::max(block.size_bytes, logical_block_bytes);
    }
    if (engine == "psync") {
      stream.jobs *= stream.depth;
      stream.depth = 1;
    }
    streams.push_back(std::move(stream));
  }
  return streams;
}

}  // namespace plimsoll
