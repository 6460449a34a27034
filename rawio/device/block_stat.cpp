#include "rawio/device/block_stat.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

namespace plimsoll {

namespace {

constexpr std::uint64_t kStatSector_bytes = 512;  // whatever the device's own sector is

// Operations, merges, sectors, ms: four numbers from `first` on.
OperationCounters transfer(const std::vector<std::uint64_t>& fields, std::size_t first) {
  return {.count = fields[first],
          .bytes = fields[first + 2] * kStatSector_bytes,
          .time_ms = static_cast<std::uint32_t>(fields[first + 3])};
}

}  // namespace

std::optional<BlockCounters> parse_block_stat(std::string_view text) {
  std::vector<std::uint64_t> fields;
  for (const auto& word : split_words(text)) {
    const auto number = parse_number<std::uint64_t>(word);
    if (!number) return {};
    fields.push_back(*number);
  }
  if (fields.size() < 11) return {};
  BlockCounters counters{.read = transfer(fields, 0),
                         .write = transfer(fields, 4),
                         .in_flight = fields[8],
                         .discard = {},
                         .flush = {}};
  if (fields.size() >= 15) counters.discard = transfer(fields, 11);
  if (fields.size() >= 17) {
    counters.flush = OperationCounters{
        .count = fields[15], .bytes = 0, .time_ms = static_cast<std::uint32_t>(fields[16])};
  }
  return counters;
}

std::optional<OperationCounters> counters_between(const OperationCounters& before,
                                                  const OperationCounters& after) {
  if (after.count < before.count || after.bytes < before.bytes) return {};
  // Unsigned subtraction gives the right span across the wrap of the 32-bit time.
  return OperationCounters{.count = after.count - before.count,
                           .bytes = after.bytes - before.bytes,
                           .time_ms = after.time_ms - before.time_ms};
}

BlockStatReader::BlockStatReader(const BlockDevice& device, const SystemRoots& roots) {
  std::error_code error;
  folder_ = std::filesystem::canonical(
      roots.sys / fmt::format("dev/block/{}:{}", major(device.number), minor(device.number)),
      error);
  disk_ = device.kind == LevelKind::kPartition ? folder_.parent_path() : folder_;
  sequence_ = read_line(disk_ / "diskseq");
}

std::optional<BlockCounters> BlockStatReader::read() {
  if (read_number<std::uint64_t>(folder_ / "size").value_or(0) == 0) return {};
  if (read_line(disk_ / "diskseq") != sequence_) return {};
  return parse_block_stat(read_text(folder_ / "stat").value_or(""));
}

}  // namespace plimsoll
