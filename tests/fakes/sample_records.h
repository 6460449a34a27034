// Records made from constructed series, always the same, for what reads records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "results/base/units.h"
#include "results/record/record.h"

namespace plimsoll::fakes {

// The same numbers on every machine: no library distribution, no math library.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 2 + 1) {}
  double uniform();                         // [0, 1)
  std::int64_t latency_ns(double base_ns);  // from the base up, with a long tail

 private:
  std::uint64_t state_;
};

constexpr std::int64_t kStart_ns = 1'000'000'000'000;  // Clock, of every sample's first part

// One database part of seconds whose TPS and device write latency (mean) are given; `response_ns`
// is that of each transaction of the second. Device writes are 2 a transaction, flushes 1.
struct OltpSecond {
  double tps;
  double device_latency_ns;
  std::int64_t response_ns;
};
void add_oltp_part(Record& record, const std::string& name, const std::vector<OltpSecond>& seconds);

// Full samples of each command, finished. `before_end` may add to the record: findings.
using BeforeEnd = std::function<void(Record&)>;
Record make_raw(const std::filesystem::path& dir, const BeforeEnd& before_end = {});
Record make_oltp_run(const std::filesystem::path& dir, const BeforeEnd& before_end = {});
Record make_oltp_load(const std::filesystem::path& dir, const BeforeEnd& before_end = {});
Record make_qualify(const std::filesystem::path& dir, const BeforeEnd& before_end = {});
// A qualify that was killed in its first second of database work; it has no findings.
Record make_cut_qualify(const std::filesystem::path& dir, const BeforeEnd& = {});

}  // namespace plimsoll::fakes
