// What is written: compressible and deduplicable as far as asked.
#include <zlib.h>

#include <set>

#include "rawio/workload/buffer_content.h"
#include "rawio/workload/io_buffers.h"
#include "tests/catch.h"

using namespace plimsoll;

namespace {

double compressed_share(const ContentShares& shares) {
  Random random(1);
  const IoBuffers buffers(1, 1 << 20, random);
  const BufferContent content(shares, 7);
  content.refresh(buffers.slot(0), 1 << 20, random);
  std::vector<unsigned char> out(::compressBound(1 << 20));
  uLongf length = out.size();
  ::compress2(out.data(), &length, reinterpret_cast<const unsigned char*>(buffers.slot(0)), 1 << 20,
              Z_BEST_SPEED);
  return double(length) / (1 << 20);
}

std::size_t unlike_units(double dedupe_percent, int writes) {
  Random random(1);
  const IoBuffers buffers(4, 16384, random);
  const BufferContent content({0, dedupe_percent}, 7);
  std::set<std::string> units;
  for (int write = 0; write < writes; ++write) {
    std::byte* data = buffers.slot(std::uint32_t(write % 4));
    content.refresh(data, 16384, random);
    for (int unit = 0; unit < 4; ++unit) {
      units.emplace(reinterpret_cast<const char*>(data + unit * 4096), 4096);
    }
  }
  return units.size();
}

}  // namespace

TEST_CASE("written data is as compressible as asked") {
  CHECK(compressed_share({}) > 0.99);
  CHECK(compressed_share({50, 0}) == Approx(0.5).margin(0.03));
  CHECK(compressed_share({80, 0}) == Approx(0.2).margin(0.03));
  CHECK(compressed_share({100, 0}) < 0.02);
}

TEST_CASE("written data has the share of copies asked, in units of 4 KiB") {
  CHECK(unlike_units(0, 1000) == 4000);
  CHECK(double(unlike_units(50, 1000)) == Approx(2000 + 256).margin(150));
  CHECK(unlike_units(100, 1000) == 256);
}

TEST_CASE("what is written lies apart from what was read where both happen") {
  Random random(1);
  const IoBuffers apart(2, 5000, random, true);
  CHECK(apart.written_slot(0) == apart.slot(0) + 8192);
  CHECK(apart.slot(1) == apart.slot(0) + 16384);
  CHECK(apart.all().size() == 32768);
  const IoBuffers shared(2, 5000, random);
  CHECK(shared.written_slot(1) == shared.slot(1));
}
