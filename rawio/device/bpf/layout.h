// What the kernel program writes and the loader reads. C, because both sides compile it.
#pragma once

#ifdef __cplusplus
#include <cstdint>
typedef std::uint64_t plm_u64;
typedef std::uint32_t plm_u32;
typedef std::int64_t plm_s64;
#else
typedef unsigned long long plm_u64;
typedef unsigned int plm_u32;
typedef long long plm_s64;
#endif

// Latency bins: log-linear on units of 4 ns, 64 bins one unit wide, then 32 for each doubling up to
// 2^42 ns (73 min). A bin is at most 1/32 of its lowest value wide, so that its midpoint is at most
// 1/64 = 1.6 % off (under 64 ns: 2 ns off). Longer times go to the last bin; their maximum and sum
// are exact.
#define PLM_SUB_BITS 5
#define PLM_UNIT_BITS 2
#define PLM_BINS 1152
// Depths: the same bins on units of 1, exact below 64, up to 64 K.
#define PLM_DEPTH_BINS 416

#define PLM_MAX_DEVICES 8
#define PLM_STATUSES 32

// Operations of a device.
enum plm_operation {
  PLM_READ,
  PLM_WRITE,
  PLM_FLUSH,  // the device's own flush commands
  PLM_DISCARD,
  PLM_OTHER,  // write-zeroes, secure erase, zone commands
  PLM_OPERATIONS
};

// Cells of a lane. Reads and writes have one a size class: 4 KiB or less, 8, 16, …, 256, more.
#define PLM_SIZE_CLASSES 8
#define PLM_CELL_READ 0
#define PLM_CELL_WRITE 8
#define PLM_CELL_FLUSH 16
// What callers of a flush wait, the flush before theirs included: queue-to-complete only.
#define PLM_CELL_FLUSH_WAIT 17
#define PLM_CELL_DISCARD 18
#define PLM_CELL_OTHER 19
#define PLM_CELLS 20

// Whose request it is, where processes are told apart; otherwise all are in the first.
enum plm_group { PLM_GROUP_OURS, PLM_GROUP_REST, PLM_GROUP_KERNEL, PLM_GROUPS };

struct plm_latency {
  plm_u64 sum_ns;
  plm_u64 max_ns;
  plm_u32 bins[PLM_BINS];
};

struct plm_cell {
  plm_u64 count;  // successful operations
  struct plm_latency d2c;
  struct plm_latency q2c;
};

// One device, group and CPU. Written by one CPU only; the fields of the issue program and those of
// the completion program are apart, because a completion may interrupt an issue on the same CPU.
struct plm_lane {
  struct plm_cell cells[PLM_CELLS];
  plm_u64 bytes[PLM_OPERATIONS];  // partial completions included
  plm_u32 errors[PLM_OPERATIONS][PLM_STATUSES];
  plm_u64 partial;    // completions of a part of a request
  plm_u64 unmatched;  // completions whose issue wasn't seen
  plm_u64 no_start;   // completions without a start time (iostats off)

  plm_u64 issued[PLM_OPERATIONS];
  plm_u64 sequential[PLM_OPERATIONS];  // began where the one issued before it ended
  plm_u64 requeued;
  plm_u64 untracked;  // issues that found no place: their completion is unmatched
  plm_u64 unseen;     // issues with the tag of a request whose completion wasn't shown
  plm_u64 depth_sum;
  plm_u32 depth_max;
  plm_u32 depth[PLM_DEPTH_BINS];  // in flight at issue, itself included
};

// Shared by all CPUs, so changed by atomic operations only.
struct plm_device {
  plm_s64 in_flight;
  plm_u64 last_end[PLM_OPERATIONS];  // sector after the last request issued; at first none
  plm_u64 pad[10];                   // two cache lines a device
};

static inline plm_u32 plm_log2(plm_u64 value) {
  plm_u32 result = 0;
  for (plm_u32 bits = 32; bits != 0; bits >>= 1) {
    if (value >> bits) {
      value >>= bits;
      result += bits;
    }
  }
  return result;
}

// Bin of a value that is counted in units; never above 1919.
static inline plm_u32 plm_bin_of_units(plm_u64 units) {
  if (units < (1u << PLM_SUB_BITS)) return (plm_u32)units;
  plm_u32 shift = plm_log2(units) - PLM_SUB_BITS;
  return (shift << PLM_SUB_BITS) + (plm_u32)(units >> shift);
}

static inline plm_u32 plm_latency_bin(plm_u64 ns) {
  plm_u32 bin = plm_bin_of_units(ns >> PLM_UNIT_BITS);
  return bin < PLM_BINS ? bin : PLM_BINS - 1;
}

static inline plm_u32 plm_depth_bin(plm_u64 depth) {
  plm_u32 bin = plm_bin_of_units(depth);
  return bin < PLM_DEPTH_BINS ? bin : PLM_DEPTH_BINS - 1;
}

// Lowest value in units of a bin, and how many units wide it is.
static inline plm_u64 plm_bin_units(plm_u32 bin) {
  return (bin >> PLM_SUB_BITS) <= 1 ? bin
                                    : (plm_u64)((bin & 31) + 32) << ((bin >> PLM_SUB_BITS) - 1);
}

static inline plm_u64 plm_bin_width(plm_u32 bin) {
  return (bin >> PLM_SUB_BITS) <= 1 ? 1 : (plm_u64)1 << ((bin >> PLM_SUB_BITS) - 1);
}
