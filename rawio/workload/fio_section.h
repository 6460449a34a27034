// The sections of a fio job file, option by option.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rawio/workload/io_workload.h"

namespace plimsoll {

// One job as its section and [global] say; what belongs to the group, not the stream, beside it.
struct FioSection {
  IoStream stream;
  std::string where;  // "jobs.fio:12", of its title
  std::string file_name;
  std::string directory;
  std::uint64_t size_bytes = 0;
  std::uint64_t file_size_bytes = 0;
  std::uint64_t io_size_bytes = 0;
  std::int64_t runtime_ns = 0;
  std::int64_t ramp_ns = 0;
  bool time_based = false;
  bool stonewall = false;
  std::string engine = "psync";
  double rate_per_s = 0;        // of each job
  double rate_bytes_per_s = 0;  // of each job
  bool poisson = false;
  bool polled = false;
  bool kernel_thread = false;
  bool count_errors = false;
  std::uint64_t seed = 0;
  bool random_map = true;  // fio asks each block once
  double mix_read_percent = 50;
  bool mixed = false;
};

// [global] applied to those after it. Throws UsageError: "jobs.fio:12: ...".
std::vector<FioSection> read_fio_sections(const std::string& text, const std::string& name);

}  // namespace plimsoll
