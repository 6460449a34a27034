// What `qualify` does and how long, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oltp/terminal/run_oltp.h"
#include "oltp/workload/sysbench.h"
#include "rawio/workload/io_workload.h"

namespace plimsoll::cli {

// How much time a user gives. One row a profile.
struct QualifyProfile {
  std::string_view name;
  std::string_view description;
  std::uint64_t file_bytes;               // of the raw part's file
  std::vector<std::uint32_t> depths;      // of the random reads
  std::vector<std::uint32_t> committers;  // of log-append + fdatasync
  std::int64_t raw_warm_up_ns;            // of each raw workload
  std::int64_t raw_time_ns;
  int tables;
  std::int64_t table_size;
  int threads;
  std::int64_t warm_up_ns;  // of each database workload
  std::int64_t time_ns;
};

const std::vector<QualifyProfile>& qualify_profiles();
// Throws UsageError naming those there are.
const QualifyProfile& qualify_profile(std::string_view name);

// Random 4K reads over the profile's depths, random 4K writes, 8K 70/30 mixed, and log appends of
// 8K each followed by fdatasync, in this order.
std::vector<IoWorkload> characterisation(const QualifyProfile& profile, const std::string& engine,
                                         std::uint64_t seed);

// The database workloads it runs, in order: oltp_read_write, then a write-heavy one.
const std::vector<std::string_view>& qualify_workloads();

SysbenchOptions sysbench_options(const QualifyProfile& profile, std::uint64_t seed);
OltpSpec oltp_spec(const QualifyProfile& profile, std::uint64_t seed);

// Of all measured and warm-up parts together; loading and filling come on top.
std::int64_t planned_ns(const QualifyProfile& profile);

}  // namespace plimsoll::cli
