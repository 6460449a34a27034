// The sysbench OLTP workloads: the same transactions on the same tables, as data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oltp/workload/distribution.h"
#include "oltp/workload/workload.h"

namespace plimsoll {

struct SysbenchOptions {
  int tables = 1;                   // 1..10,000: sbtest1 .. sbtestN
  std::int64_t table_size = 10000;  // rows a table, 1..2^31-1
  std::int64_t range_size = 100;    // rows of a range select
  RandomKind random = RandomKind::kUniform;
  bool scrambled = false;
  bool pipeline = false;  // a transaction in one round trip, where the engine can
  std::uint64_t seed = 1;  // of the data, the draws and the scrambling
};

// Parameters of a statement, each drawn when the transaction is.
enum class Draw : std::uint8_t { kId, kSameId, kRangeEnd, kK, kC, kPad };

struct SysbenchStep {
  std::string_view statement;  // a name in schemas/sysbench
  int times;
  bool same_table;  // as the step before; else a table is drawn, one for all `times`
  std::vector<Draw> draws;
};

struct SysbenchRow {
  std::string_view name;  // "oltp_read_write"
  std::string_view description;
  bool transaction;  // begin … commit around it; else one autocommitted statement
  Access access;
  std::vector<SysbenchStep> steps;
};

const std::vector<SysbenchRow>& sysbench_rows();
// Throws UsageError naming those there are.
const SysbenchRow& sysbench_row(std::string_view name);

// Throws UsageError for numbers out of range.
void check_options(const SysbenchOptions& options);
// `engine` names the dialect.
std::unique_ptr<Workload> make_sysbench(const SysbenchRow& row, const SysbenchOptions& options,
                                        const std::string& engine);

// Ten and five groups of 11 digits joined by '-'.
inline constexpr std::size_t kCLength = 119;
inline constexpr std::size_t kPadLength = 59;
void fill_digit_groups(Rng& rng, std::span<char> text) noexcept;  // of length 12 * groups - 1

}  // namespace plimsoll
