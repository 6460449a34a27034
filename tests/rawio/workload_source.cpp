#include <cmath>
#include <map>
#include <set>

#include "rawio/workload/buffer_content.h"
#include "rawio/workload/io_buffers.h"
#include "rawio/workload/request_source.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "tests/catch.h"

using namespace plimsoll;

namespace {

IoRequest draw(RequestSource& source) {
  IoRequest request{};
  source.next(request);
  return request;
}

IoWorkload timed(const IoStream& stream) {
  IoWorkload workload;
  workload.streams = {stream};
  workload.runtime_ns = 1;
  return workload;
}

const TargetShape kDrive{"/dev/sdx", 100 * kMiB, 512, true};

std::string refusal(const IoStream& stream, const TargetShape& target = kDrive) {
  try {
    check_workload(timed(stream), {target});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("random numbers below a bound are uniform by the chi-square test") {
  Random random(7);
  constexpr std::uint64_t kBound = 1000;
  constexpr int kDraws = 1'000'000;
  std::vector<int> seen(kBound);
  for (int i = 0; i < kDraws; ++i) ++seen[random.below(kBound)];
  const double expected = double(kDraws) / kBound;
  double chi_square = 0;
  for (const int count : seen) chi_square += (count - expected) * (count - expected) / expected;
  // 999 degrees of freedom: the middle 99.99 %.
  CHECK(chi_square > 832);
  CHECK(chi_square < 1180);
}

TEST_CASE("random numbers below a bound just over half of 2^64 are not biased") {
  Random random(3);
  const std::uint64_t bound =
      (1ull << 63) + (1ull << 62);  // plain modulo would favour the low third
  int low = 0;
  for (int i = 0; i < 100'000; ++i) low += random.below(bound) < bound / 3;
  CHECK(low == Approx(33'333).margin(600));
}

TEST_CASE("more than 2^32 blocks overflow nothing") {
  IoStream stream;
  const std::uint64_t drive = 1ull << 60;
  RequestSource source(stream, piece_of(stream, 0, drive), 1);
  std::uint64_t highest = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto request = draw(source);
    CHECK(request.offset % 4096 == 0);
    CHECK(request.offset + request.length <= drive);
    highest = std::max(highest, request.offset);
  }
  CHECK(highest > drive / 1000 * 999);
}

TEST_CASE("random offsets reach the first and the last block and no further") {
  IoStream stream;
  stream.span_offset_bytes = 8192;
  stream.span_bytes = 10 * 4096 + 100;
  RequestSource source(stream, piece_of(stream, 0, kMiB), 1);
  std::set<std::uint64_t> offsets;
  for (int i = 0; i < 1000; ++i) offsets.insert(draw(source).offset);
  CHECK(offsets.size() == 10);
  CHECK(*offsets.begin() == 8192);
  CHECK(*offsets.rbegin() == 8192 + 9 * 4096);
}

TEST_CASE("sequential jobs cover the span once, each its own piece") {
  IoStream stream;
  stream.pattern = AccessPattern::kSequential;
  stream.jobs = 4;
  std::set<std::uint64_t> offsets;
  for (std::uint32_t job = 0; job < 4; ++job) {
    RequestSource source(stream, piece_of(stream, job, kMiB), job);
    for (int i = 0; i < 64; ++i) offsets.insert(draw(source).offset);
  }
  CHECK(offsets.size() == 256);
  CHECK(*offsets.rbegin() == kMiB - 4096);
}

TEST_CASE("a sequential job that reaches its end starts anew at its piece") {
  IoStream stream;
  stream.pattern = AccessPattern::kSequential;
  stream.span_offset_bytes = 4096;
  stream.span_bytes = 3 * 4096;
  RequestSource source(stream, piece_of(stream, 0, kMiB), 1);
  std::vector<std::uint64_t> offsets;
  for (int i = 0; i < 4; ++i) offsets.push_back(draw(source).offset / 4096);
  CHECK(offsets == std::vector<std::uint64_t>{1, 2, 3, 1});
}

TEST_CASE("mixes and block sizes have the shares asked") {
  IoStream stream;
  stream.read_percent = 70;
  stream.blocks = {{4096, 60}, {8192, 30}, {65536, 10}};
  RequestSource source(stream, piece_of(stream, 0, 100 * kMiB), 5);
  std::map<std::uint32_t, int> sizes;
  int reads = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const auto request = draw(source);
    ++sizes[request.length];
    reads += request.operation == IoOperation::kRead;
    CHECK_FALSE(request.offset % request.length != 0);
  }
  CHECK(reads == Approx(70'000).margin(700));
  CHECK(sizes[4096] == Approx(60'000).margin(800));
  CHECK(sizes[8192] == Approx(30'000).margin(800));
  CHECK(sizes[65536] == Approx(10'000).margin(500));
}

TEST_CASE("the same seed gives the same requests, another one others") {
  IoStream stream;
  RequestSource a(stream, piece_of(stream, 0, kMiB), 9);
  RequestSource b(stream, piece_of(stream, 0, kMiB), 9);
  RequestSource c(stream, piece_of(stream, 0, kMiB), 10);
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const auto offset = draw(a).offset;
    CHECK(offset == draw(b).offset);
    same += offset == draw(c).offset;
  }
  CHECK(same < 10);
}

TEST_CASE("each written block differs from all before, in every 512 bytes") {
  Random random(1);
  IoBuffers buffers(1, 4096, random);
  const BufferContent content({}, 1);
  std::set<std::string> sectors;
  for (int write = 0; write < 100; ++write) {
    content.refresh(buffers.slot(0), 4096, random);
    for (int sector = 0; sector < 8; ++sector) {
      sectors.emplace(reinterpret_cast<const char*>(buffers.slot(0) + sector * 512), 512);
    }
  }
  CHECK(sectors.size() == 800);
}

TEST_CASE("a workload that can't run is refused before any I/O, in words") {
  IoStream stream;
  CHECK(refusal(stream).empty());

  stream.blocks = {{512, 100}};
  CHECK_THAT(refusal(stream, {"/dev/sdx", kMiB, 4096, true}),
             ContainsSubstring("4096-byte sectors"));
  stream = {};
  stream.span_offset_bytes = 100 * kMiB;
  CHECK_THAT(refusal(stream), ContainsSubstring("beyond"));
  stream = {};
  stream.span_offset_bytes = UINT64_MAX - 511;
  stream.span_bytes = 4096;
  CHECK_THAT(refusal(stream), ContainsSubstring("beyond"));
  stream = {};
  stream.span_bytes = 100 * kMiB + 1;
  CHECK_THAT(refusal(stream), ContainsSubstring("beyond"));
  stream = {};
  stream.span_bytes = 2048;
  CHECK_THAT(refusal(stream), ContainsSubstring("hold no block"));
  stream = {};
  stream.blocks = {{4096, 50}, {8192, 40}};
  CHECK_THAT(refusal(stream), ContainsSubstring("90 %"));
  stream = {};
  stream.fsync_every = 1;
  CHECK_THAT(refusal(stream), ContainsSubstring("--rw write"));
  stream = {};
  stream.read_percent = 0;
  CHECK_THAT(refusal(stream, {"/dev/sdx", kMiB, 512, false}),
             ContainsSubstring("can't be written"));
  stream = {};
  stream.reap_batch = 2;
  CHECK_THAT(refusal(stream), ContainsSubstring("depth"));
  stream = {};
  stream.arrivals = ArrivalKind::kConstant;
  stream.rate_per_s = 3e6;
  CHECK_THAT(refusal(stream), ContainsSubstring("2,000,000/s"));
}
