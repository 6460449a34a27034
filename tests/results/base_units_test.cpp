#include "results/base/units.h"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <limits>

#include "results/base/error.h"
#include "results/base/version.h"
#include "tests/catch.h"
#include "tests/lab/skip.h"

using namespace plimsoll;
namespace lab = plimsoll::lab;

TEST_CASE("sizes are powers of 1024 in any case") {
  CHECK(parse_size_bytes("512") == 512);
  CHECK(parse_size_bytes("4k") == 4096);
  CHECK(parse_size_bytes("4K") == 4096);
  CHECK(parse_size_bytes("16KiB") == 16384);
  CHECK(parse_size_bytes("16 kb") == 16384);
  CHECK(parse_size_bytes("1g") == 1ULL << 30);
  CHECK(parse_size_bytes("1.5g") == 3ULL << 29);
  CHECK(parse_size_bytes("2TiB") == 1ULL << 41);
  CHECK(parse_size_bytes("7e") == 7ULL << 60);
  CHECK(parse_size_bytes("0") == 0);
  CHECK(parse_size_bytes("9223372036854775807") == INT64_MAX);
}

TEST_CASE("a size that does not parse is refused with what would") {
  for (const char* text : {"", "k", "4x", "-4k", "+4k", "4k4", "1..5k", "0x10", "1e3", "nan", "inf",
                           "4,5k", " 4k", "4k ", "9223372036854775808", "8e", "16EiB", "."}) {
    INFO(text);
    CHECK_THROWS_AS(parse_size_bytes(text), UsageError);
  }
  CHECK_THROWS_WITH(parse_size_bytes("4x"), ContainsSubstring("\"4x\"") && ContainsSubstring("4k"));
}

TEST_CASE("durations have a unit or are seconds") {
  CHECK(parse_duration_ns("500ms") == 500'000'000);
  CHECK(parse_duration_ns("30s") == 30'000'000'000);
  CHECK(parse_duration_ns("30") == 30'000'000'000);
  CHECK(parse_duration_ns("1.5s") == 1'500'000'000);
  CHECK(parse_duration_ns("0.1") == 100'000'000);
  CHECK(parse_duration_ns("5m") == 300'000'000'000);
  CHECK(parse_duration_ns("24h") == 86'400'000'000'000);
  CHECK(parse_duration_ns("2d") == 172'800'000'000'000);
  CHECK(parse_duration_ns("250us") == 250'000);
  CHECK(parse_duration_ns("100ns") == 100);
  CHECK(parse_duration_ns("9223372036854775807ns") == INT64_MAX);
}

TEST_CASE("a duration that does not parse is refused") {
  for (const char* text :
       {"", "s", "-1s", "1x", "1s30", "nan", "9223372036854775808ns", "300000d"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_duration_ns(text), UsageError);
  }
}

TEST_CASE("rates are per second unless they say minute") {
  CHECK(parse_rate_per_s("2000/s") == 2000);
  CHECK(parse_rate_per_s("2000") == 2000);
  CHECK(parse_rate_per_s("0.5/s") == 0.5);
  CHECK(parse_rate_per_s("120/m") == Approx(2));
  CHECK(parse_rate_per_s("1.5k/s") == 1500);
  CHECK(parse_rate_per_s("2M/s") == 2e6);
  for (const char* text : {"", "0", "0/s", "-1/s", "/s", "nan/s", "inf", "5/day", "2000//s"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_rate_per_s(text), UsageError);
  }
}

TEST_CASE("sizes are printed with three significant digits") {
  CHECK(format_size(0) == "0 B");
  CHECK(format_size(512) == "512 B");
  CHECK(format_size(1023) == "1023 B");
  CHECK(format_size(4096) == "4 KiB");
  CHECK(format_size(3ULL << 29) == "1.5 GiB");
  CHECK(format_size((1ULL << 20) - 1) == "1 MiB");  // not "1024 KiB"
  CHECK(format_size(1234567) == "1.18 MiB");
  CHECK(format_size(std::numeric_limits<std::uint64_t>::max()) == "16 EiB");
  CHECK(parse_size_bytes(format_size(3ULL << 29)) == 3ULL << 29);
}

TEST_CASE("durations are printed in the unit that fits") {
  CHECK(format_duration(0) == "0 s");
  CHECK(format_duration(850) == "850 ns");
  CHECK(format_duration(83'000) == "83 us");
  CHECK(format_duration(999'700) == "1 ms");  // not "1000 us"
  CHECK(format_duration(1'250'000'000) == "1.25 s");
  CHECK(format_duration(59'940'000'000) == "59.9 s");
  CHECK(format_duration(59'960'000'000) == "1 m");
  CHECK(format_duration(125'000'000'000) == "2 m 05 s");
  CHECK(format_duration(7'500'000'000'000) == "2 h 05 m");
  CHECK(format_duration(86'400'000'000'000) == "24 h");
  CHECK(format_duration(277'200'000'000'000) == "3 d 05 h");
  CHECK(format_duration(-83'000) == "-83 us");
  CHECK(format_duration(INT64_MIN) == "-106752 d");
}

TEST_CASE("counts are printed short") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(0.5) == "0.5");
  CHECK(format_count(12.34) == "12.3");
  CHECK(format_count(999.4) == "999");
  CHECK(format_count(999.6) == "1,000");
  CHECK(format_count(1850) == "1,850");
  CHECK(format_count(9999.4) == "9,999");
  CHECK(format_count(14'120) == "14.1 K");
  CHECK(format_count(512'345) == "512 K");
  CHECK(format_count(999'700) == "1 M");
  CHECK(format_count(3'200'000) == "3.2 M");
  CHECK(format_count(-14'120) == "-14.1 K");
  CHECK(format_count(std::nan("")) == "n/a");
  CHECK(format_thousands(48'210'332) == "48,210,332");
  CHECK(format_thousands(999) == "999");
  CHECK(format_thousands(1000) == "1,000");
}

// A comma locale emptied the table elsewhere.
TEST_CASE("a locale with decimal commas changes neither parsing nor printing") {
  const char* found = nullptr;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"}) {
    if (found == nullptr) found = std::setlocale(LC_ALL, name);
  }
  if (found == nullptr) return lab::skip("no locale with decimal commas is installed");
  CHECK(parse_duration_ns("1.5s") == 1'500'000'000);
  CHECK(format_size(3ULL << 29) == "1.5 GiB");
  CHECK(format_count(14'120) == "14.1 K");
  std::setlocale(LC_ALL, "C");
}

TEST_CASE("the version is that of the project") {
  const std::string text = version();
  CHECK(text.find_first_not_of("0123456789.") == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '.') == 2);
}
