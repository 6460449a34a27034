#include "rawio/workload/verification.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rawio/workload/io_buffers.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kVerifyRead_bytes = 1u << 20;

// Units first..first+count-1 of the log, all of a known generation.
struct KnownRun {
  std::uint64_t first;
  std::uint64_t count;
};

KnownRun next_known_run(const WrittenLog& log, std::uint64_t from) {
  while (from < log.units() && log.generation(from) == 0) ++from;
  std::uint64_t end = from;
  const std::uint64_t most = from + kVerifyRead_bytes / log.unit_bytes();
  while (end < std::min(log.units(), most) && log.generation(end) != 0) ++end;
  return {from, end - from};
}

// 0, or the errno; a read that ends early is no data: ENODATA.
int read_whole(int file, std::byte* data, std::uint64_t length, std::uint64_t offset) {
  for (std::uint64_t done = 0; done < length;) {
    const ssize_t moved =
        ::pread(file, data + done, length - done, static_cast<off_t>(offset + done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return ENODATA;
    done += static_cast<std::uint64_t>(moved);
  }
  return 0;
}

std::optional<Corruption> examine(const WrittenLog& log, std::uint64_t unit,
                                  const std::byte* data) {
  UnitStamp stamp;
  std::memcpy(&stamp, data, sizeof(stamp));
  const std::uint64_t offset = log.offset_of(unit);
  const std::uint64_t wanted = log.generation(unit);
  const auto corruption = [&](CorruptionKind kind, std::uint64_t found) {
    return Corruption{kind, offset, wanted, found};
  };
  if (stamp.magic != UnitStamp::kMagic || stamp.run != log.run()) {
    return corruption(CorruptionKind::kForeign, 0);
  }
  if (stamp.checksum != unit_checksum(data, log.unit_bytes())) {
    return corruption(CorruptionKind::kDamaged, stamp.generation);
  }
  if (stamp.offset != offset) return corruption(CorruptionKind::kMisplaced, stamp.offset);
  if (stamp.generation != wanted) return corruption(CorruptionKind::kStale, stamp.generation);
  return std::nullopt;
}

void note_unit(Verification& sum, const std::optional<Corruption>& corruption) {
  ++sum.units;
  if (!corruption) return;
  ++sum.corrupt;
  if (!sum.first) sum.first = corruption;
}

// Of a range that can't be read whole each unit is tried alone.
void verify_alone(const WrittenLog& log, const KnownRun& run, int file, std::byte* data,
                  Verification& sum) {
  for (std::uint64_t unit = run.first; unit < run.first + run.count; ++unit) {
    const int error = read_whole(file, data, log.unit_bytes(), log.offset_of(unit));
    note_unit(sum, error == 0
                       ? examine(log, unit, data)
                       : Corruption{CorruptionKind::kUnreadable, log.offset_of(unit),
                                    log.generation(unit), static_cast<std::uint64_t>(error)});
  }
}

void verify_run(const WrittenLog& log, const KnownRun& run, int file, std::byte* data,
                Verification& sum) {
  if (read_whole(file, data, run.count * log.unit_bytes(), log.offset_of(run.first)) != 0) {
    verify_alone(log, run, file, data, sum);
    return;
  }
  for (std::uint64_t i = 0; i < run.count; ++i) {
    note_unit(sum, examine(log, run.first + i, data + i * log.unit_bytes()));
  }
}

}  // namespace

void Verification::merge(const Verification& other) {
  units += other.units;
  bytes += other.bytes;
  corrupt += other.corrupt;
  if (!other.first || (first && first->offset <= other.first->offset)) return;
  first = other.first;
  target = other.target;
}

Verification verify_written(const WrittenLog& log, int file, std::uint32_t target,
                            const std::stop_token& stop, const ProgressSink& progress) {
  Random random(1);
  const IoBuffers buffer(1, kVerifyRead_bytes, random);
  Verification sum;
  std::uint64_t reads = 0;
  for (auto run = next_known_run(log, 0); run.count > 0 && !stop.stop_requested();
       run = next_known_run(log, run.first + run.count)) {
    verify_run(log, run, file, buffer.slot(0), sum);
    if (progress && ++reads % 1024 == 0) {
      Progress now;
      now.phase = "verify";
      now.fraction = static_cast<double>(run.first) / static_cast<double>(log.units());
      progress(now);
    }
  }
  sum.bytes = sum.units * log.unit_bytes();
  if (sum.first) sum.target = target;
  return sum;
}

std::string describe(const Corruption& corruption) {
  const auto at = fmt::format("offset {} ", corruption.offset);
  switch (corruption.kind) {
    case CorruptionKind::kUnreadable: {
      const char* name = ::strerrorname_np(static_cast<int>(corruption.found));
      return at + fmt::format("can't be read ({})", name != nullptr ? name : "?");
    }
    case CorruptionKind::kForeign:
      return at + "holds nothing that this run wrote: the write was lost";
    case CorruptionKind::kMisplaced:
      return at + fmt::format("holds what was written to offset {}", corruption.found);
    case CorruptionKind::kStale:
      return at + fmt::format("holds generation {} where {} was written last: a lost write",
                              corruption.found, corruption.wanted);
    case CorruptionKind::kDamaged:
      break;
  }
  return at + "holds damaged data: its checksum is wrong";
}

}  // namespace plimsoll
