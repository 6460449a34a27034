// The few kernel types the program reads. Only names and types matter: where a field lies is
// looked up in the running kernel's own type information when the program is loaded (CO-RE), so
// that it is compiled once, also on a machine without that information.
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk {
  int major;
  int first_minor;
};

struct request_queue {
  struct gendisk* disk;
};

struct block_device {
  struct gendisk* bd_disk;
};

struct bvec_iter {
  unsigned long long bi_sector;
  unsigned int bi_size;
};

struct bio {
  struct block_device* bi_bdev;
  unsigned int bi_opf;
  unsigned char bi_status;
  struct bvec_iter bi_iter;
};

struct blk_mq_hw_ctx {
  unsigned int queue_num;
};

struct request {
  struct request_queue* q;
  struct blk_mq_hw_ctx* mq_hctx;
  unsigned int cmd_flags;
  int tag;
  int internal_tag;
  unsigned int __data_len;
  unsigned long long __sector;
  unsigned long long start_time_ns;
  unsigned short nr_phys_segments;
};

struct task_struct {
  unsigned int flags;
  int tgid;
};

enum req_op { REQ_OP_READ, REQ_OP_WRITE, REQ_OP_FLUSH, REQ_OP_DISCARD, REQ_OP_DRV_IN };

#pragma clang attribute pop
