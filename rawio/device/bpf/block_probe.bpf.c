// Counts and times the requests of the watched devices inside the kernel.
//
// A request of a request-based device: block_rq_issue (the driver gets it) -> block_rq_complete.
// When it was queued is in the request itself; when it was issued is kept here by its tag, which
// no two requests share, so a plain array serves and nothing is hashed or allocated.
// A bio-based device (zram, device-mapper, md) has no requests: its bios are followed from
// block_bio_queue to block_bio_complete by their address in a bounded hash.
//
// No count is lost at read-out: programs find the lanes through `active`, an array of maps. The
// loader puts the other, zeroed array there, and the kernel returns from that update only after
// every program that may still hold the old one has ended; then the old one is read at leisure.

#include <linux/bpf.h>
// after linux/bpf.h
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel_types.h"
#include "layout.h"

#define EEXIST 17
#define PF_KTHREAD 0x00200000
#define OPERATION_MASK 0xff

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Set before loading.
const volatile plm_u32 device_count = 1;
const volatile plm_u32 group_count = 1;
const volatile plm_u32 device_numbers[PLM_MAX_DEVICES];  // major << 20 | minor
const volatile plm_u32 tag_base[PLM_MAX_DEVICES];        // its first entry in `requests`
const volatile plm_u32 tags_per_queue[PLM_MAX_DEVICES];
const volatile plm_u32 hardware_queues[PLM_MAX_DEVICES];
const volatile plm_u32 bio_based[PLM_MAX_DEVICES];
const volatile plm_u32 owner_at_start = 0;  // block_io_start tells whose it is

struct plm_device devices[PLM_MAX_DEVICES];

// The arrays of lanes are made by the loader: [CPU][device][group].
struct lanes {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(plm_u32));
  __uint(value_size, sizeof(struct plm_lane));
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, plm_u32);
  __array(values, struct lanes);
} active SEC(".maps");

struct tagged {
  plm_u64 issued_ns;  // 0: the driver doesn't have it
  plm_u32 group;      // whose it is
};

// By the tag that a request has from its start to its end: the scheduler's, where there is one (the
// driver's tag then comes and goes), else the driver's.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, plm_u32);
  __type(value, struct tagged);
} requests SEC(".maps");

struct bio_in_flight {
  plm_u64 queued_ns;
  plm_u32 bytes;
  plm_u32 device;
  plm_u32 operation;
  plm_u32 group;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, plm_u64);  // the bio's address
  __type(value, struct bio_in_flight);
} bios SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, plm_u32);  // process id
  __type(value, plm_u32);
} our_processes SEC(".maps");

static __always_inline int find_device(struct gendisk* disk, plm_u32 by_bio) {
  if (!disk) return -1;
  plm_u32 number = (plm_u32)disk->major << 20 | (plm_u32)disk->first_minor;
  for (int i = 0; i < PLM_MAX_DEVICES; i++) {
    if (i >= device_count) break;
    if (device_numbers[i] == number) return bio_based[i] == by_bio ? i : -1;
  }
  return -1;
}

static __always_inline plm_u32 classify(plm_u32 flags) {
  plm_u32 op = flags & OPERATION_MASK;
  if (op == bpf_core_enum_value(enum req_op, REQ_OP_READ)) return PLM_READ;
  if (op == bpf_core_enum_value(enum req_op, REQ_OP_WRITE)) return PLM_WRITE;
  if (op == bpf_core_enum_value(enum req_op, REQ_OP_FLUSH)) return PLM_FLUSH;
  if (op == bpf_core_enum_value(enum req_op, REQ_OP_DISCARD)) return PLM_DISCARD;
  if (op >= bpf_core_enum_value(enum req_op, REQ_OP_DRV_IN)) return PLM_OPERATIONS;
  return PLM_OTHER;
}

static __always_inline plm_u32 cell_of(plm_u32 operation, plm_u32 bytes) {
  if (operation == PLM_FLUSH) return PLM_CELL_FLUSH;
  if (operation == PLM_DISCARD) return PLM_CELL_DISCARD;
  if (operation == PLM_OTHER) return PLM_CELL_OTHER;
  plm_u32 first = operation == PLM_READ ? PLM_CELL_READ : PLM_CELL_WRITE;
  if (bytes <= 4096) return first;
  plm_u32 size_class = plm_log2((bytes - 1) >> 12) + 1;
  return first + (size_class < PLM_SIZE_CLASSES ? size_class : PLM_SIZE_CLASSES - 1);
}

static __always_inline struct plm_lane* lane_of(plm_u32 device, plm_u32 group) {
  plm_u32 zero = 0;
  void* lanes = bpf_map_lookup_elem(&active, &zero);
  if (!lanes) return 0;
  plm_u32 index = (bpf_get_smp_processor_id() * device_count + device) * group_count + group;
  return bpf_map_lookup_elem(lanes, &index);
}

static __always_inline void add_latency(struct plm_latency* latency, plm_u64 ns) {
  latency->sum_ns += ns;
  if (ns > latency->max_ns) latency->max_ns = ns;
  plm_u32 bin = plm_latency_bin(ns);
  if (bin < PLM_BINS) latency->bins[bin]++;
}

static __always_inline void add_depth(struct plm_lane* lane, plm_s64 depth) {
  if (depth < 0) depth = 0;
  lane->depth_sum += depth;
  if (depth > lane->depth_max) lane->depth_max = depth;
  plm_u32 bin = plm_depth_bin(depth);
  if (bin < PLM_DEPTH_BINS) lane->depth[bin]++;
}

static __always_inline void add_sequence(struct plm_lane* lane, plm_u32 device, plm_u32 operation,
                                         plm_u64 sector, plm_u32 bytes) {
  lane->issued[operation]++;
  if (bytes == 0) return;
  plm_u64 before =
      __sync_lock_test_and_set(&devices[device].last_end[operation], sector + (bytes >> 9));
  if (before == sector) lane->sequential[operation]++;
}

static __always_inline plm_u32 group_of_current(void) {
  if (group_count == 1) return PLM_GROUP_OURS;
  struct task_struct* task = (void*)bpf_get_current_task_btf();
  if (task->flags & PF_KTHREAD) return PLM_GROUP_KERNEL;
  plm_u32 process = bpf_get_current_pid_tgid() >> 32;
  return bpf_map_lookup_elem(&our_processes, &process) ? PLM_GROUP_OURS : PLM_GROUP_REST;
}

static __always_inline struct tagged* tagged_of(struct request* rq, plm_u32 device) {
  struct blk_mq_hw_ctx* queue = rq->mq_hctx;
  int tag = rq->internal_tag >= 0 ? rq->internal_tag : rq->tag;
  if (!queue || tag < 0 || (plm_u32)tag >= tags_per_queue[device]) return 0;
  plm_u32 number = queue->queue_num;
  if (number >= hardware_queues[device]) return 0;
  plm_u32 key = tag_base[device] + number * tags_per_queue[device] + tag;
  return bpf_map_lookup_elem(&requests, &key);
}

// The submitter is only sure to be the running task when the request starts; later a kernel thread
// or another process may hand it on.
SEC("tp_btf/block_io_start")
int BPF_PROG(request_start, struct request* rq) {
  int device = find_device(rq->q->disk, 0);
  if (device < 0) return 0;
  struct tagged* tagged = tagged_of(rq, device & (PLM_MAX_DEVICES - 1));
  if (tagged) tagged->group = group_of_current();
  return 0;
}

static __always_inline plm_u32 group_of_request(const struct tagged* tagged) {
  if (group_count == 1) return PLM_GROUP_OURS;
  if (!owner_at_start) return group_of_current();
  return tagged && tagged->group < PLM_GROUPS ? tagged->group : PLM_GROUP_REST;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issue, struct request* rq) {
  int found = find_device(rq->q->disk, 0);
  if (found < 0) return 0;
  plm_u32 device = found & (PLM_MAX_DEVICES - 1);
  plm_u32 operation = classify(rq->cmd_flags);
  if (operation >= PLM_OPERATIONS) return 0;
  struct tagged* tagged = tagged_of(rq, device);
  plm_u32 group = group_of_request(tagged);
  struct plm_lane* lane = lane_of(device, group);
  if (!lane) return 0;
  add_sequence(lane, device, operation, rq->__sector, rq->__data_len);
  if (!tagged) {
    lane->untracked++;
    return 0;
  }
  plm_s64 depth = 0;
  if (tagged->issued_ns) {  // the completion of its former user wasn't shown: that one has gone
    lane->unseen++;
    depth = devices[device].in_flight;
  } else {
    depth = __sync_fetch_and_add(&devices[device].in_flight, 1) + 1;
  }
  add_depth(lane, depth);
  tagged->group = group;
  tagged->issued_ns = bpf_ktime_get_ns();
  return 0;
}

// The driver gave it back unstarted; it will be issued again.
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(request_requeue, struct request* rq) {
  int found = find_device(rq->q->disk, 0);
  if (found < 0) return 0;
  plm_u32 device = found & (PLM_MAX_DEVICES - 1);
  struct tagged* tagged = tagged_of(rq, device);
  if (!tagged || !tagged->issued_ns || tagged->group >= PLM_GROUPS) return 0;
  struct plm_lane* lane = lane_of(device, tagged->group);
  tagged->issued_ns = 0;
  __sync_fetch_and_add(&devices[device].in_flight, -1);
  if (lane) __sync_fetch_and_add(&lane->requeued, 1);
  return 0;
}

static __always_inline void add_error(struct plm_lane* lane, plm_u32 operation, plm_u32 status) {
  if (operation < PLM_OPERATIONS) lane->errors[operation][status & (PLM_STATUSES - 1)]++;
}

// A sequence of flush, data, flush ends with a completion of no bytes. Where the caller's request
// had data it was counted when they completed; where it had none this is the end of what an fsync
// waits for.
static __always_inline void end_of_flush_sequence(struct request* rq, plm_u32 device,
                                                  plm_u64 now_ns) {
  if (rq->nr_phys_segments != 0 || !rq->start_time_ns) return;
  struct plm_lane* lane = lane_of(device, group_of_request(tagged_of(rq, device)));
  if (!lane) return;
  lane->cells[PLM_CELL_FLUSH_WAIT].count++;
  add_latency(&lane->cells[PLM_CELL_FLUSH_WAIT].q2c, now_ns - rq->start_time_ns);
}

static __always_inline void finish_request(struct plm_lane* lane, struct request* rq,
                                           plm_u32 operation, plm_u64 issued_ns, plm_u64 now_ns) {
  plm_u32 cell = cell_of(operation, rq->__data_len);
  if (cell >= PLM_CELLS) return;
  if (issued_ns) {
    add_latency(&lane->cells[cell].d2c, now_ns - issued_ns);
  } else {
    lane->unmatched++;
  }
  plm_u64 start_ns = rq->start_time_ns;
  if (start_ns) {
    add_latency(&lane->cells[cell].q2c, now_ns - start_ns);
  } else {
    lane->no_start++;
  }
  lane->cells[cell].count++;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_complete, struct request* rq, int status, unsigned int bytes) {
  int found = find_device(rq->q->disk, 0);
  if (found < 0) return 0;
  plm_u32 device = found & (PLM_MAX_DEVICES - 1);
  plm_u32 operation = classify(rq->cmd_flags);
  if (operation >= PLM_OPERATIONS) return 0;
  plm_u64 now_ns = bpf_ktime_get_ns();
  if (operation == PLM_WRITE && bytes == 0) {
    end_of_flush_sequence(rq, device, now_ns);
    return 0;
  }
  struct tagged* tagged = tagged_of(rq, device);
  plm_u64 issued_ns = tagged ? tagged->issued_ns : 0;
  plm_u32 group = issued_ns ? tagged->group : group_of_request(tagged);
  struct plm_lane* lane = lane_of(device, group < PLM_GROUPS ? group : PLM_GROUP_REST);
  if (!lane) return 0;
  if (!status) lane->bytes[operation] += bytes;
  if (bytes < rq->__data_len) {
    lane->partial++;
    return 0;
  }
  if (issued_ns) {
    tagged->issued_ns = 0;
    __sync_fetch_and_add(&devices[device].in_flight, -1);
  }
  if (status) {
    add_error(lane, operation, status);
  } else {
    finish_request(lane, rq, operation, issued_ns, now_ns);
  }
  return 0;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queue, struct bio* bio) {
  int found = find_device(bio->bi_bdev->bd_disk, 1);
  if (found < 0) return 0;
  plm_u32 device = found & (PLM_MAX_DEVICES - 1);
  struct bio_in_flight entry = {.device = device, .group = group_of_current()};
  entry.bytes = bio->bi_iter.bi_size;
  entry.operation = classify(bio->bi_opf);
  if (entry.operation == PLM_WRITE && entry.bytes == 0) entry.operation = PLM_FLUSH;
  if (entry.operation >= PLM_OPERATIONS) return 0;
  struct plm_lane* lane = lane_of(device, entry.group);
  if (!lane) return 0;
  add_sequence(lane, device, entry.operation, bio->bi_iter.bi_sector, entry.bytes);
  plm_u64 key = (plm_u64)bio;
  entry.queued_ns = bpf_ktime_get_ns();
  long failure = bpf_map_update_elem(&bios, &key, &entry, BPF_NOEXIST);
  if (failure == -EEXIST) {  // the completion of the address's former user wasn't shown
    lane->unseen++;
    failure = bpf_map_update_elem(&bios, &key, &entry, BPF_EXIST);
    __sync_fetch_and_add(&devices[device].in_flight, -1);
  }
  if (failure) {
    lane->untracked++;
    return 0;
  }
  add_depth(lane, __sync_fetch_and_add(&devices[device].in_flight, 1) + 1);
  return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_complete, struct request_queue* queue, struct bio* bio) {
  plm_u64 key = (plm_u64)bio;
  struct bio_in_flight* entry = bpf_map_lookup_elem(&bios, &key);
  if (!entry) {
    int found = find_device(bio->bi_bdev->bd_disk, 1);
    struct plm_lane* lane = found < 0 ? 0 : lane_of(found & (PLM_MAX_DEVICES - 1), 0);
    if (lane) lane->unmatched++;
    return 0;
  }
  plm_u64 now_ns = bpf_ktime_get_ns();
  plm_u32 device = entry->device & (PLM_MAX_DEVICES - 1);
  __sync_fetch_and_add(&devices[device].in_flight, -1);
  struct plm_lane* lane = lane_of(device, entry->group);
  plm_u32 operation = entry->operation;
  plm_u32 cell = cell_of(operation, entry->bytes);
  if (lane && operation < PLM_OPERATIONS && cell < PLM_CELLS) {
    if (bio->bi_status) {
      add_error(lane, operation, bio->bi_status);
    } else {
      lane->bytes[operation] += entry->bytes;
      lane->cells[cell].count++;
      add_latency(&lane->cells[cell].q2c, now_ns - entry->queued_ns);
    }
  }
  bpf_map_delete_elem(&bios, &key);
  return 0;
}

// Children of our processes are ours.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct* parent, struct task_struct* child) {
  plm_u32 parent_id = parent->tgid;
  plm_u32 child_id = child->tgid;
  plm_u32 one = 1;
  if (parent_id == child_id || !bpf_map_lookup_elem(&our_processes, &parent_id)) return 0;
  bpf_map_update_elem(&our_processes, &child_id, &one, BPF_ANY);
  return 0;
}
