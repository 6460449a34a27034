// Where accesses go: permutations, distributions, strides, and how much of a span was reached.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "rawio/workload/permutation.h"
#include "rawio/workload/request_source.h"
#include "rawio/workload/spread.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "tests/catch.h"

using namespace plimsoll;

namespace {

// Of equally likely cells; the wanted mean is cells - 1, its deviation sqrt(2 (cells - 1)).
template <typename Counts>
double chi_square_of(const Counts& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double expected = total / double(counts.size());
  double sum = 0;
  for (const auto count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

std::vector<std::uint64_t> draw_offsets(RequestSource& source, int count) {
  std::vector<std::uint64_t> offsets;
  for (int i = 0; i < count; ++i) {
    IoRequest request{};
    source.next(request);
    offsets.push_back(request.offset);
  }
  return offsets;
}

// How often each block was drawn, the most drawn first.
std::vector<int> ranked(const Spread& spread, std::uint64_t blocks, int draws) {
  BlockDraw draw(spread, blocks, 5);
  Random random(11);
  std::vector<int> counts(blocks);
  for (int i = 0; i < draws; ++i) ++counts.at(draw.draw(random));
  std::sort(counts.rbegin(), counts.rend());
  return counts;
}

IoWorkload timed_workload(const IoStream& stream) {
  IoWorkload workload;
  workload.streams = {stream};
  workload.runtime_ns = 1;
  return workload;
}

std::string pattern_refusal(const IoStream& stream) {
  try {
    check_workload(timed_workload(stream), {{"/dev/sdx", 100 * kMiB, 512, true}});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a permutation holds each number once, whatever the size") {
  for (const std::uint64_t size :
       {1ull, 2ull, 3ull, 10ull, 4095ull, 4096ull, 4097ull, 100'003ull}) {
    INFO("size " << size);
    const Permutation permutation(size, 42);
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto at = permutation.at(i);
      REQUIRE(at < size);
      CHECK_FALSE(seen[at]);
      seen[at] = true;
    }
  }
}

TEST_CASE("each number is as likely as another at each place of a permutation") {
  constexpr std::uint64_t kSize = 12;
  std::vector<int> cells(kSize * kSize);
  for (std::uint64_t key = 0; key < 24'000; ++key) {
    const Permutation permutation(kSize, key);
    for (std::uint64_t i = 0; i < kSize; ++i) ++cells[i * kSize + permutation.at(i)];
  }
  // 121 degrees of freedom: the middle 99.99 %.
  const double chi_square = chi_square_of(cells);
  CHECK(chi_square > 65);
  CHECK(chi_square < 192);
}

TEST_CASE("any stretch of a permutation is spread evenly over the members of a RAID") {
  for (const std::uint64_t members : {2, 3, 4, 5, 8}) {
    const Permutation permutation(1'000'003, members);
    for (const std::uint64_t start : {0, 400'000, 900'000}) {
      std::vector<int> counts(members);
      for (std::uint64_t i = 0; i < 20'000; ++i) ++counts[permutation.at(start + i) % members];
      INFO(members << " members from " << start);
      CHECK(chi_square_of(counts) < 30);  // 7 degrees of freedom at most: 1 in 10,000
    }
  }
}

TEST_CASE("a permutation of more than 2^32 blocks overflows nothing and follows no order") {
  const std::uint64_t size = (1ull << 48) + 12'345;
  const Permutation permutation(size, 1);
  std::vector<int> sixteenths(16);
  int ascents = 0;
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < 16'000; ++i) {
    const auto at = permutation.at(size - 1 - i);
    REQUIRE(at < size);
    ++sixteenths[at / (size / 16 + 1)];
    ascents += at > before;
    before = at;
  }
  CHECK(chi_square_of(sixteenths) < 42);
  CHECK(ascents == Approx(8'000).margin(200));
}

TEST_CASE("without repeats jobs together ask every block once a pass, in another order each") {
  IoStream stream;
  stream.no_repeat = true;
  stream.jobs = 3;
  stream.span_bytes = 1000 * 4096;
  std::multiset<std::uint64_t> first;
  std::vector<std::vector<std::uint64_t>> by_job;
  for (std::uint32_t job = 0; job < 3; ++job) {
    RequestSource source(stream, piece_of(stream, job, kMiB * 100), job, JobSeat{job, 77});
    by_job.push_back(draw_offsets(source, 1000));
    // A third of each of three passes: 1 - (2/3)^3 of all.
    CHECK(double(source.touched().touched()) == Approx(704).margin(60));
  }
  std::multiset<std::uint64_t> all;
  for (const auto& offsets : by_job) all.insert(offsets.begin(), offsets.end());
  CHECK(std::set<std::uint64_t>(all.begin(), all.end()).size() == 1000);
  CHECK(std::all_of(all.begin(), all.end(), [&](auto offset) { return all.count(offset) == 3; }));
  CHECK(by_job[0] != by_job[1]);
}

TEST_CASE("zipf's blocks are as frequent as their ranks say, near and far from theta 1") {
  for (const double theta : {0.5, 0.999, 1.0, 1.2, 2.5}) {
    INFO("theta " << theta);
    constexpr int kBlocks = 1000;
    constexpr int kDraws = 200'000;
    double harmonic = 0;
    for (int rank = 1; rank <= kBlocks; ++rank) harmonic += std::pow(rank, -theta);
    const auto counts = ranked({SpreadKind::kZipf, theta, {}}, kBlocks, kDraws);
    for (const int rank : {1, 2, 5}) {
      const double wanted = kDraws * std::pow(rank, -theta) / harmonic;
      INFO("rank " << rank);
      // Counts next to each other may change places, which only sorts noise into the margin.
      CHECK(counts[std::size_t(rank - 1)] == Approx(wanted).margin(6 * std::sqrt(wanted) + 3));
    }
  }
}

TEST_CASE("pareto gives 1 - h of the accesses to h of the blocks") {
  const auto counts = ranked({SpreadKind::kPareto, 0.2, {}}, 1000, 200'000);
  CHECK(std::accumulate(counts.begin(), counts.begin() + 200, 0) == Approx(160'000).margin(2000));
}

TEST_CASE("hot blocks are the same for all jobs of a stream, and not side by side") {
  IoStream stream;
  stream.spread = parse_spread("zipf:1.5");
  std::map<std::uint64_t, int> counts[2];
  for (std::uint32_t job = 0; job < 2; ++job) {
    RequestSource source(stream, piece_of(stream, job, kMiB * 100), job + 1, JobSeat{job, 9});
    for (const auto offset : draw_offsets(source, 20'000)) ++counts[job][offset];
  }
  const auto hottest = [](const auto& map) {
    return std::max_element(map.begin(), map.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  };
  CHECK(hottest(counts[0]) == hottest(counts[1]));
  CHECK(counts[0].count(hottest(counts[0]) + 4096) + counts[0].count(hottest(counts[0]) - 4096) <
        2);
}

TEST_CASE("normal accesses have their mean in the middle and the deviation asked") {
  BlockDraw draw(parse_spread("normal:10"), 1 << 20, 1);
  Random random(3);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double share = double(draw.draw(random)) / (1 << 20);
    sum += share;
    squares += (share - 0.5) * (share - 0.5);
  }
  CHECK(sum / kDraws == Approx(0.5).margin(0.002));
  CHECK(std::sqrt(squares / kDraws) == Approx(0.1).margin(0.001));
}

TEST_CASE("zones have their shares of accesses, each uniform inside") {
  BlockDraw draw(parse_spread("zoned:60/10:30/20:10/70"), 1000, 1);
  Random random(3);
  std::vector<int> counts(1000);
  for (int i = 0; i < 100'000; ++i) ++counts[draw.draw(random)];
  CHECK(std::accumulate(counts.begin(), counts.begin() + 100, 0) == Approx(60'000).margin(700));
  CHECK(std::accumulate(counts.begin() + 100, counts.begin() + 300, 0) ==
        Approx(30'000).margin(700));
  CHECK(chi_square_of(std::vector<int>(counts.begin(), counts.begin() + 100)) < 170);
  CHECK(*std::min_element(counts.begin(), counts.end()) > 0);
}

TEST_CASE("a distribution's text is read, given back, and refused with what it takes") {
  for (const char* text : {"random", "zipf:1.2", "pareto:0.1", "normal:15", "zoned:60/10:40/90"}) {
    CHECK(describe(parse_spread(text)) == text);
  }
  CHECK(parse_spread("zipf").parameter == 1.1);
  for (const char* text : {"zipf:0", "zipf:x", "pareto:0.5", "normal:0", "zoned", "zoned:50/50",
                           "zoned:50/50:50", "gauss", "random:1"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_spread(text), ContainsSubstring("zoned:60/10:40/90"));
  }
}

TEST_CASE("strides go on one block further each time round, until all blocks had their turn") {
  IoStream stream;
  stream.pattern = AccessPattern::kStrided;
  stream.stride_bytes = 16384;
  RequestSource source(stream, piece_of(stream, 0, 10 * 4096), 1);
  auto offsets = draw_offsets(source, 11);
  for (auto& offset : offsets) offset /= 4096;
  CHECK(offsets == std::vector<std::uint64_t>{0, 4, 8, 1, 5, 9, 2, 6, 3, 7, 0});
}

TEST_CASE("the share of a span that was reached is known") {
  SpanMap map(1ull << 40, 4096);
  CHECK(map.regions() == 4096);
  for (std::uint64_t offset = 0; offset < 1ull << 39; offset += 1ull << 28) map.mark(offset, 4096);
  CHECK(map.touched() == 2048);
  SpanMap other(1ull << 40, 4096);
  other.mark((1ull << 40) - 4096, 4096);
  map.merge(other);
  CHECK(map.touched() == 2049);
  SpanMap small(10 * 4096, 4096);
  CHECK(small.regions() == 10);
  small.mark(0, 10 * 4096);
  CHECK(small.touched() == 10);
}

TEST_CASE("trims have their share of a mix") {
  IoStream stream;
  stream.read_percent = 50;
  stream.trim_percent = 20;
  RequestSource source(stream, piece_of(stream, 0, kMiB), 3);
  std::map<IoOperation, int> counts;
  for (int i = 0; i < 100'000; ++i) {
    IoRequest request{};
    source.next(request);
    ++counts[request.operation];
  }
  CHECK(counts[IoOperation::kRead] == Approx(50'000).margin(700));
  CHECK(counts[IoOperation::kTrim] == Approx(20'000).margin(700));
  CHECK(counts[IoOperation::kWrite] == Approx(30'000).margin(700));
}

TEST_CASE("patterns that can't be are refused in words") {
  IoStream stream;
  stream.no_repeat = true;
  CHECK(pattern_refusal(stream).empty());
  stream.blocks = {{4096, 50}, {8192, 50}};
  CHECK_THAT(pattern_refusal(stream), ContainsSubstring("one block size"));
  stream = {};
  stream.no_repeat = true;
  stream.spread = parse_spread("zipf");
  CHECK_THAT(pattern_refusal(stream), ContainsSubstring("--distribution"));
  stream = {};
  stream.pattern = AccessPattern::kSequential;
  stream.spread = parse_spread("zipf");
  CHECK_THAT(pattern_refusal(stream), ContainsSubstring("--rw randread"));
  stream = {};
  stream.pattern = AccessPattern::kStrided;
  stream.stride_bytes = 2048;
  CHECK_THAT(pattern_refusal(stream), ContainsSubstring("stride"));
  stream = {};
  stream.read_percent = 80;
  stream.trim_percent = 30;
  CHECK_THAT(pattern_refusal(stream), ContainsSubstring("together"));
  stream = {};
  stream.think_ns = 1;
  stream.arrivals = ArrivalKind::kConstant;
  stream.rate_per_s = 100;
  CHECK_THAT(pattern_refusal(stream), ContainsSubstring("--thinktime"));
  stream = {};
  stream.content.dedupe_percent = 101;
  CHECK_THAT(pattern_refusal(stream), ContainsSubstring("--dedupe"));
}
