#include <algorithm>

#include "cli/progress_line.h"
#include "results/base/units.h"
#include "tests/catch.h"

namespace plimsoll::cli {
namespace {


Progress example() {
  Progress progress;
  progress.phase = "raw  random read QD32";
  progress.fraction = 0.7199;
  progress.rate_per_s = 512'000;
  progress.p99_ns = 118'000;
  progress.left_ns = 20 * kSecond_ns;
  return progress;
}

TEST_CASE("progress: a bar says how far, how fast and how long still") {
  CHECK(bar_line(example(), {.unicode = true, .columns = 80}) ==
        "raw  random read QD32  ███████████░░░░   71 %  512 K IOPS  p99 118 us  0:20 left");
  CHECK(bar_line(example(), {.unicode = false, .columns = 100}) ==
        "raw  random read QD32  ##############------   71 %  512 K IOPS  p99 118 us  0:20 left");
}

TEST_CASE("progress: a line is never wider than the terminal") {
  Progress progress = example();
  progress.note = "warm-up ends in 8 s, and the unicode of a name: ÄÖÜ…";
  for (int columns = 1; columns <= 120; ++columns) {
    const std::string line = bar_line(progress, {.unicode = true, .columns = columns});
    const auto shown = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    });
    INFO(line);
    CHECK(shown <= columns);
    if (columns >= 24) CHECK(line.starts_with("raw  random read QD32"));
  }
}

TEST_CASE("progress: what isn't known is left out") {
  Progress progress;
  progress.phase = "load";
  CHECK(plain_line(progress) == "load");
  CHECK(bar_line(progress, {}) == "load");
  progress.left_ns = 2 * 3600 * kSecond_ns + 61 * kSecond_ns;
  CHECK(plain_line(progress) == "load  2:01:01 left");
  progress.rate_per_s = 0;
  progress.unit = "TPS";
  CHECK(plain_line(progress) == "load  0 TPS  2:01:01 left");
}

TEST_CASE("progress: it says 100 % only at the end") {
  Progress progress;
  progress.phase = "load";
  progress.fraction = 0.9999;
  CHECK(plain_line(progress) == "load   99 %");
  progress.fraction = 1.0000001;
  CHECK(plain_line(progress) == "load  100 %");
}

}  // namespace
}  // namespace plimsoll::cli
