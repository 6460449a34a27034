#include "rawio/device/bpf/lane_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace plimsoll {
namespace {

// Bins of all CPUs, before they become a histogram.
struct Sums {
  std::array<std::uint64_t, PLM_BINS> bins{};
  std::uint64_t sum_ns = 0;
  std::uint64_t max_ns = 0;

  void add(const plm_latency& latency) {
    for (std::size_t bin = 0; bin < bins.size(); ++bin) bins[bin] += latency.bins[bin];
    sum_ns += latency.sum_ns;
    max_ns = std::max<std::uint64_t>(max_ns, latency.max_ns);
  }
};

std::int64_t midpoint_ns(plm_u32 bin) {
  const auto lowest = plm_bin_units(bin) << PLM_UNIT_BITS;
  const auto width = plm_bin_width(bin) << PLM_UNIT_BITS;
  return static_cast<std::int64_t>(lowest + width / 2);
}

// Every value stands in the middle of its bin, but one in the highest bin at the exact maximum.
Histogram to_histogram(const Sums& sums) {
  Histogram histogram;
  const auto max_ns = static_cast<std::int64_t>(sums.max_ns);
  const plm_u32 highest = plm_latency_bin(sums.max_ns);
  for (plm_u32 bin = 0; bin < highest; ++bin) {
    if (sums.bins[bin] != 0) histogram.record(midpoint_ns(bin), sums.bins[bin]);
  }
  if (sums.bins[highest] > 1) {
    histogram.record(std::min(midpoint_ns(highest), max_ns), sums.bins[highest] - 1);
  }
  if (sums.bins[highest] > 0) histogram.record(max_ns);
  histogram.restore_exact(histogram.min(), max_ns, static_cast<double>(sums.sum_ns),
                          histogram.sum_squares());
  return histogram;
}

struct CellRange {
  ProbeOperation operation;
  std::size_t first;
  std::size_t count;
};

constexpr CellRange kCellRanges[] = {
    {ProbeOperation::kRead, PLM_CELL_READ, PLM_SIZE_CLASSES},
    {ProbeOperation::kWrite, PLM_CELL_WRITE, PLM_SIZE_CLASSES},
    {ProbeOperation::kFlush, PLM_CELL_FLUSH, 1},
    {ProbeOperation::kDiscard, PLM_CELL_DISCARD, 1},
    {ProbeOperation::kOther, PLM_CELL_OTHER, 1},
};

class LaneTaker {
 public:
  LaneTaker(plm_lane* lanes, std::size_t stride, std::size_t count)
      : lanes_(lanes), stride_(stride), count_(count) {}

  ProbedSizes take_cell(std::size_t index) {
    ProbedSizes taken;
    Sums d2c;
    Sums q2c;
    for (std::size_t i = 0; i < count_; ++i) {
      auto& cell = lane(i).cells[index];
      if (cell.count == 0) continue;
      taken.count += cell.count;
      d2c.add(cell.d2c);
      q2c.add(cell.q2c);
      std::memset(&cell, 0, sizeof(cell));
    }
    if (taken.count == 0) return taken;
    taken.d2c = to_histogram(d2c);
    taken.q2c = to_histogram(q2c);
    return taken;
  }

  void take_counters(ProbedDisk& disk) {
    for (std::size_t i = 0; i < count_; ++i) {
      auto& lane = this->lane(i);
      for (std::size_t op = 0; op < kProbeOperations; ++op) {
        add_operation(lane, op, disk.operations[op]);
      }
      disk.partial += lane.partial;
      disk.requeued += lane.requeued;
      disk.unmatched += lane.unmatched;
      disk.no_start_time += lane.no_start;
      disk.untracked += lane.untracked;
      disk.unseen += lane.unseen;
      add_depth(lane, disk.depth);
      std::memset(&lane.bytes, 0, sizeof(lane) - offsetof(plm_lane, bytes));
    }
  }

 private:
  plm_lane& lane(std::size_t index) { return lanes_[index * stride_]; }

  static void add_operation(const plm_lane& lane, std::size_t op, ProbedOperation& operation) {
    operation.bytes += lane.bytes[op];
    operation.issued += lane.issued[op];
    operation.sequential += lane.sequential[op];
    for (unsigned status = 1; status < PLM_STATUSES; ++status) {
      if (lane.errors[op][status] == 0) continue;
      operation.errors += lane.errors[op][status];
      operation.errors_by_code[errno_of_status(status)] += lane.errors[op][status];
    }
  }

  static void add_depth(const plm_lane& lane, Histogram& depth) {
    for (plm_u32 bin = 0; lane.depth_sum != 0 && bin < PLM_DEPTH_BINS; ++bin) {
      if (lane.depth[bin] == 0) continue;
      const auto middle = plm_bin_units(bin) + plm_bin_width(bin) / 2;
      depth.record(std::min<std::int64_t>(middle, lane.depth_max), lane.depth[bin]);
    }
  }

  plm_lane* lanes_;
  std::size_t stride_;
  std::size_t count_;
};

void take_operation(LaneTaker& taker, const CellRange& range, ProbedOperation& operation) {
  for (std::size_t i = 0; i < range.count; ++i) {
    auto sizes = taker.take_cell(range.first + i);
    if (sizes.count == 0) continue;
    operation.count += sizes.count;
    operation.d2c.merge(sizes.d2c);
    operation.q2c.merge(sizes.q2c);
    if (range.count == 1) continue;
    sizes.up_to_bytes = i + 1 == range.count ? UINT64_MAX : std::uint64_t{4096} << i;
    operation.sizes.push_back(std::move(sizes));
  }
}

void add_sizes(ProbedOperation& sum, const ProbedSizes& sizes) {
  const auto same = std::find_if(sum.sizes.begin(), sum.sizes.end(), [&](const auto& one) {
    return one.up_to_bytes == sizes.up_to_bytes;
  });
  if (same == sum.sizes.end()) {
    sum.sizes.push_back(sizes);
    return;
  }
  same->count += sizes.count;
  same->d2c.merge(sizes.d2c);
  same->q2c.merge(sizes.q2c);
}

void add_to(ProbedOperation& sum, const ProbedOperation& operation) {
  sum.count += operation.count;
  sum.bytes += operation.bytes;
  sum.errors += operation.errors;
  for (const auto& [code, times] : operation.errors_by_code) sum.errors_by_code[code] += times;
  sum.d2c.merge(operation.d2c);
  sum.q2c.merge(operation.q2c);
  for (const auto& sizes : operation.sizes) add_sizes(sum, sizes);
  std::sort(sum.sizes.begin(), sum.sizes.end(),
            [](const auto& a, const auto& b) { return a.up_to_bytes < b.up_to_bytes; });
  sum.issued += operation.issued;
  sum.sequential += operation.sequential;
}

}  // namespace

ProbedDisk together(const std::vector<ProbedDisk>& groups) {
  ProbedDisk sum = groups.front();
  sum.group = "all";
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const auto& group = groups[i];
    for (std::size_t op = 0; op < kProbeOperations; ++op) {
      add_to(sum.operations[op], group.operations[op]);
    }
    sum.flush_wait.merge(group.flush_wait);
    sum.depth.merge(group.depth);
    sum.partial += group.partial;
    sum.requeued += group.requeued;
    sum.unmatched += group.unmatched;
    sum.no_start_time += group.no_start_time;
    sum.untracked += group.untracked;
    sum.unseen += group.unseen;
  }
  return sum;
}

int errno_of_status(unsigned status) {
  static constexpr int kErrno[] = {0,         EOPNOTSUPP, ETIMEDOUT, ENOSPC, ENOLINK,
                                   EREMOTEIO, EBADE,      ENODATA,   EILSEQ, ENOMEM,
                                   EIO,       EIO,        EAGAIN,    EBUSY};
  return status < std::size(kErrno) ? kErrno[status] : EIO;
}

ProbedDisk take_lanes(plm_lane* lanes, std::size_t stride, std::size_t count) {
  ProbedDisk disk;
  LaneTaker taker(lanes, stride, count);
  for (const auto& range : kCellRanges) {
    take_operation(taker, range, disk.operations[static_cast<std::size_t>(range.operation)]);
  }
  disk.flush_wait = taker.take_cell(PLM_CELL_FLUSH_WAIT).q2c;
  taker.take_counters(disk);
  return disk;
}

}  // namespace plimsoll
