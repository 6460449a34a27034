#include <zlib.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "results/measure/histogram.h"
#include "tests/catch.h"
#include "tests/lab/npm.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"

using plimsoll::Histogram;
namespace lab = plimsoll::lab;

namespace {

std::string to_hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    hex.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    hex.push_back(kDigits[static_cast<unsigned char>(byte) & 15]);
  }
  return hex;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<std::string> hdr(const std::string& work, const std::string& input) {
  lab::ProcessOptions options;
  options.input = input;
  const auto result = lab::run_process({"node", lab::npm_dir() / "hdr.mjs", work}, options);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  std::istringstream lines(result.out);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}

Histogram random_histogram(std::uint64_t seed, std::size_t count, double decades) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(0, decades);
  Histogram histogram;
  for (std::size_t i = 0; i < count; ++i) {
    histogram.record(static_cast<std::int64_t>(std::pow(10, exponent(random))));
  }
  return histogram;
}

std::vector<Histogram> samples() {
  std::vector<Histogram> all;
  all.emplace_back();
  all.emplace_back();
  all.back().record(0, 3);
  all.emplace_back();
  all.back().record(1'000'000);
  all.back().record(1'000'001, (1ULL << 52));  // a count of eight bytes
  all.emplace_back();
  all.back().record(Histogram::kHighestTrackable_ns, 5);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    all.push_back(random_histogram(seed, 30'000, 2.0 * static_cast<double>(seed)));
  }
  return all;
}

std::string all_buckets(const Histogram& histogram) {
  std::ostringstream text;
  histogram.for_each_bucket([&](std::int64_t lowest, std::int64_t, std::uint64_t count) {
    text << lowest << ':' << count << ' ';
  });
  return text.str();
}

// A V2 encoding with these counts, for what no writer writes.
std::string encoding_of(const std::string& counts, std::uint32_t digits = 3,
                        std::uint32_t cookie = 0x1c849313) {
  std::string payload;
  const auto put = [&](std::string& out, std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      out.push_back(static_cast<char>(value >> shift));
    }
  };
  put(payload, cookie, 4);
  put(payload, counts.size(), 4);
  put(payload, 0, 4);
  put(payload, digits, 4);
  put(payload, 1, 8);
  put(payload, 3'600'000'000'000, 8);
  put(payload, 0x3ff0000000000000, 8);
  payload += counts;
  uLongf size = compressBound(payload.size());
  std::string compressed(size, '\0');
  compress(reinterpret_cast<Bytef*>(compressed.data()), &size,
           reinterpret_cast<const Bytef*>(payload.data()), payload.size());
  compressed.resize(size);
  std::string out;
  put(out, 0x1c849314, 4);
  put(out, size, 4);
  return out + compressed;
}

}  // namespace

TEST_CASE("a histogram decodes to what was encoded") {
  for (const Histogram& histogram : samples()) {
    Histogram decoded = Histogram::decode(histogram.encode());
    CHECK(all_buckets(decoded) == all_buckets(histogram));
    CHECK(decoded.count() == histogram.count());
    for (const double percent : {1.0, 50.0, 99.0, 99.9}) {
      CHECK(decoded.percentile(percent) ==
            Approx(histogram.percentile(percent)).epsilon(0.001).margin(0));
    }
    decoded.restore_exact(histogram.min(), histogram.max(), histogram.sum(),
                          histogram.sum_squares());
    CHECK(decoded.min() == histogram.min());
    CHECK(decoded.max() == histogram.max());
    CHECK(decoded.mean() == Approx(histogram.mean()));
    CHECK(decoded.stddev() == Approx(histogram.stddev()));
    CHECK(decoded.percentile(100) == histogram.percentile(100));
    CHECK(Histogram::decode(decoded.encode()).count() == histogram.count());
  }
}

TEST_CASE("values over an hour survive the encoding") {
  Histogram histogram;
  histogram.record(1000, 2);
  histogram.record(5'000'000'000'000);
  Histogram decoded = Histogram::decode(histogram.encode());
  CHECK(decoded.count() == 3);
  CHECK(decoded.overflow() == 1);
  CHECK(decoded.max() > Histogram::kHighestTrackable_ns);
  decoded.restore_exact(histogram.min(), histogram.max(), histogram.sum(), histogram.sum_squares());
  CHECK(decoded.max() == 5'000'000'000'000);
  CHECK(decoded.min() == 1000);
  CHECK(decoded.percentile(100) == 5'000'000'000'000);
  CHECK(decoded.mean() == Approx(histogram.mean()));
}

TEST_CASE("another implementation decodes a histogram to the same percentiles", "[slow]") {
  const std::string problem = lab::npm_problem();
  if (!problem.empty()) return lab::skip(problem);
  const std::vector<Histogram> all = samples();
  std::string input;
  for (const Histogram& histogram : all) input += to_hex(histogram.encode()) + "\n";
  const std::vector<std::string> lines = hdr("decode", input);
  REQUIRE(lines.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO("sample " << i);
    const nlohmann::json theirs = nlohmann::json::parse(lines[i]);
    // Both now know only the buckets.
    const Histogram ours = Histogram::decode(all[i].encode());
    CHECK(theirs["count"].get<std::uint64_t>() == ours.count());
    CHECK(theirs["max"].get<std::int64_t>() == ours.max());
    CHECK(theirs["mean"].get<double>() == Approx(ours.mean()));
    CHECK(theirs["stddev"].get<double>() == Approx(ours.stddev()).margin(1));
    for (const auto& pair : theirs["percentiles"]) {
      INFO(pair[0] << " %");
      CHECK(pair[1].get<std::int64_t>() == ours.percentile(pair[0].get<double>()));
    }
  }
}

TEST_CASE("what another implementation encodes decodes to the same values", "[slow]") {
  const std::string problem = lab::npm_problem();
  if (!problem.empty()) return lab::skip(problem);
  const std::vector<std::pair<std::int64_t, std::uint64_t>> values = {
      {1, 1}, {2, 7}, {700, 2}, {2047, 1}, {2048, 9}, {150'000, 1'000'000}, {3'000'000'000'000, 1}};
  for (const int digits : {1, 2, 3}) {
    INFO(digits << " digits");
    const nlohmann::json request = {{"digits", digits}, {"values", values}};
    const std::vector<std::string> lines = hdr("encode", request.dump() + "\n");
    REQUIRE(lines.size() == 1);
    const Histogram decoded = Histogram::decode(from_hex(lines[0]));
    CHECK(decoded.count() == 1'000'021);
    CHECK(decoded.max() == Approx(3e12).epsilon(std::pow(10, -digits)));
    CHECK(decoded.percentile(50) == Approx(150'000).epsilon(std::pow(10, -digits)));
    CHECK(decoded.count_above(1'000'000'000) == 1);
    CHECK(decoded.percentile(0.0005) == 2);
  }
}

TEST_CASE("an encoding that is damaged is refused, whatever is wrong with it") {
  const std::string good = random_histogram(1, 1000, 9).encode();
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_THROWS_AS(Histogram::decode(good.substr(0, size)), std::runtime_error);
  }
  std::string wrong_cookie = good;
  wrong_cookie[3] = '\x55';
  CHECK_THROWS_WITH(Histogram::decode(wrong_cookie), ContainsSubstring("cookie"));
  CHECK(Histogram::decode(encoding_of("\x02")).count() == 1);
  CHECK_THROWS_WITH(Histogram::decode(encoding_of("\x02", 4)), ContainsSubstring("digits"));
  CHECK_THROWS_WITH(Histogram::decode(encoding_of("\x02", 3, 0x1c849301)),
                    ContainsSubstring("inner cookie"));
  CHECK_THROWS_WITH(Histogram::decode(encoding_of("\x82")), ContainsSubstring("truncated"));
  // -2^40 empty buckets, and then a count.
  CHECK_THROWS_WITH(Histogram::decode(encoding_of("\xff\xff\xff\xff\xff\x3f\x02")),
                    ContainsSubstring("skips"));
  std::string largest_counts;
  for (int i = 0; i < 4; ++i) largest_counts += "\xfe\xff\xff\xff\xff\xff\xff\xff\xff";
  CHECK_THROWS_WITH(Histogram::decode(encoding_of(largest_counts)), ContainsSubstring("2^63"));
}

TEST_CASE("random damage to an encoding never crashes the decoder") {
  const std::string good = random_histogram(2, 1000, 9).encode();
  std::mt19937_64 random(3);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = good;
    damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
    try {
      Histogram::decode(damaged);
    } catch (const std::runtime_error&) {
      ++refused;
    }
  }
  CHECK(refused > 1900);  // zlib's checksum finds all but damage to what no one reads
}
