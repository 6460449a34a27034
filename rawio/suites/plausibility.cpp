#include "rawio/suites/plausibility.h"

#include <fmt/format.h>

#include "results/base/units.h"

namespace plimsoll {
namespace {

// A turn of 15,000 a minute takes 4 ms; half of one is what a write waits on average, at the best.
constexpr std::int64_t kDisk_ns = 2'000'000;
// To program a page of the quickest NAND flash takes about 100 us (ordinary: 200 to 800).
constexpr std::int64_t kFlash_ns = 50'000;
// A command over PCIe and its completion, without data.
constexpr std::int64_t kPcieCommand_ns = 1'000;
constexpr double kSataBytes_per_s = 600e6;  // 6 Gbit/s, 10 bits a byte

bool is_virtual(const BlockDevice& drive) {
  return drive.transport == "virtio" || drive.transport == "xen";
}

}  // namespace

std::optional<std::int64_t> link_time_ns(const BlockDevice& drive, std::uint32_t bytes) {
  if (drive.pcie.speed_gt_s && drive.pcie.width) {
    // Of generation 3 and later 128 of 130 bits are data; before, 8 of 10.
    const double share = *drive.pcie.speed_gt_s >= 8 ? 128.0 / 130 : 0.8;
    const double bytes_per_ns = *drive.pcie.speed_gt_s * share / 8 * *drive.pcie.width;
    return kPcieCommand_ns + static_cast<std::int64_t>(bytes / bytes_per_ns);
  }
  if (drive.transport == "sata") {
    return static_cast<std::int64_t>(bytes / kSataBytes_per_s * 1e9);
  }
  return std::nullopt;
}

Plausibility judge_commit(const BlockDevice& drive, std::uint32_t record_bytes,
                          std::int64_t median_ns) {
  const auto said = fmt::format("a commit of {} takes {} at the median", format_size(record_bytes),
                                format_duration(median_ns));
  if (drive.kind != LevelKind::kDrive) {
    return {false, false,
            said + fmt::format("; {} is no drive ({}): nothing is known of its medium", drive.node,
                               level_kind_name(drive.kind))};
  }
  if (is_virtual(drive)) {
    return {false, false,
            said + fmt::format("; {} is virtual: whether it is on a medium then is the host's "
                               "affair",
                               drive.node)};
  }
  if (const auto link_ns = link_time_ns(drive, record_bytes); link_ns && median_ns < *link_ns) {
    return {true, true,
            said + fmt::format(", less than its link needs for the data alone ({})",
                               format_duration(*link_ns))};
  }
  if (drive.rotational == true && median_ns < kDisk_ns) {
    return {true, true,
            said +
                ", less than half a turn of the fastest disk (2 ms): the flush doesn't reach "
                "the medium"};
  }
  if (drive.rotational == false && drive.write_cache == "write back" && median_ns < kFlash_ns) {
    return {true, false,
            said +
                ", less than flash takes to program: the cache is protected against power "
                "loss, or the flush is a lie"};
  }
  return {false, false, said + ": its medium and link can do that"};
}

}  // namespace plimsoll
