// HdrHistogram's V2 exchange format: big-endian header, then the counts as ZigZag LEB128, where a
// negative number stands for that many empty buckets; the whole in zlib behind a cookie and length.
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "results/measure/histogram.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kCookie = 0x1c849303;
constexpr std::uint32_t kCompressedCookie = 0x1c849304;
constexpr std::uint32_t kWordSizeBits = 0xf0;  // of the cookie; says nothing in V2
constexpr std::uint32_t kWordSizeMark = 0x10;  // what every V2 writer puts there
constexpr std::size_t kHeaderBytes = 40;
constexpr std::size_t kCompressedHeaderBytes = 8;
constexpr int kDigits = 3;
// Some writers put the integer 1 where the format has an offset of 0 and the double 1.0.
constexpr std::uint32_t kLargestUnshiftedOffset = 1;
constexpr std::uint64_t kUnscaledAsInteger = 1;
// All buckets of 3 digits up to 2^63 ns, nine bytes each, are less.
constexpr std::size_t kLargestPayloadBytes = 1U << 20;

[[noreturn]] void fail(const std::string& why) {
  throw std::runtime_error("not a readable HdrHistogram V2 encoding: " + why);
}

template <typename Unsigned>
void put(std::string& out, Unsigned value) {
  for (int shift = static_cast<int>(sizeof(value) - 1) * 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
}

// Seven bits a byte, least first; the ninth byte holds eight, so that 64 bits fit.
void put_zigzag(std::string& out, std::int64_t value) {
  std::uint64_t rest =
      (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  for (int byte = 0; byte < 8; ++byte) {
    if (rest < 0x80) {
      out.push_back(static_cast<char>(rest));
      return;
    }
    out.push_back(static_cast<char>(rest | 0x80));
    rest >>= 7;
  }
  out.push_back(static_cast<char>(rest));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }
  std::uint8_t byte() {
    if (done()) fail("it is truncated");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  template <typename Unsigned>
  Unsigned number() {
    Unsigned value = 0;
    for (std::size_t i = 0; i < sizeof(value); ++i) value = (value << 8) | byte();
    return value;
  }
  std::int64_t zigzag() {
    std::uint64_t value = 0;
    for (int shift = 0; shift <= 56; shift += 7) {
      const std::uint64_t next = byte();
      if (shift == 56) {
        value |= next << shift;
        break;
      }
      value |= (next & 0x7f) << shift;
      if (next < 0x80) break;
    }
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::string inflated(std::string_view compressed) {
  for (std::size_t room = 16384; room <= kLargestPayloadBytes; room *= 4) {
    std::string out(room, '\0');
    uLongf size = room;
    const int result =
        uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                   reinterpret_cast<const Bytef*>(compressed.data()), compressed.size());
    if (result == Z_OK) {
      out.resize(size);
      return out;
    }
    if (result != Z_BUF_ERROR) fail("its zlib data is damaged");
  }
  fail("its zlib data is truncated or too long");
}

std::string deflated(const std::string& payload) {
  uLongf size = compressBound(payload.size());
  std::string out(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(out.data()), &size,
               reinterpret_cast<const Bytef*>(payload.data()), payload.size()) != Z_OK) {
    throw std::bad_alloc();
  }
  out.resize(size);
  return out;
}

// The layout that a number of significant digits gives: 32, 256 or 2048 linear sub-buckets.
struct Geometry {
  int half_bits;  // log2 of half the sub-buckets

  explicit Geometry(std::uint32_t digits) : half_bits(0) {
    if (digits < 1 || digits > 3) fail("its digits are not 1, 2 or 3");
    const std::uint32_t resolved = 2 * (digits == 1 ? 10U : digits == 2 ? 100U : 1000U);
    half_bits = std::bit_width(resolved - 1) - 1;
  }
  // 2^63 when the bucket lies beyond what 63 bits hold.
  std::uint64_t lowest_of(std::int64_t index) const {
    const std::int64_t half = std::int64_t{1} << half_bits;
    const std::int64_t bucket = index < 2 * half ? 0 : (index >> half_bits) - 1;
    if (bucket + half_bits >= 63) return std::uint64_t{1} << 63;
    return static_cast<std::uint64_t>(index - bucket * half) << bucket;
  }
  std::int64_t highest_of(std::int64_t index) const {
    return static_cast<std::int64_t>(lowest_of(index + 1) - 1);
  }
  std::int64_t buckets() const { return std::int64_t{64 - half_bits} << half_bits; }
};

// Calls fn(index, count) for each bucket that is not empty.
template <typename Fn>
void read_counts(Reader& reader, const Geometry& geometry, Fn&& fn) {
  std::int64_t index = 0;
  while (!reader.done()) {
    const std::int64_t count = reader.zigzag();
    if (count < -geometry.buckets()) fail("it skips more buckets than there are");
    if (count > 0 && index >= geometry.buckets()) fail("it has more buckets than values");
    if (count > 0) fn(index, count);
    index += count < 0 ? -count : 1;
  }
}

// What buckets say of their values: a sum over their middles, as HdrHistogram's mean does.
struct Middles {
  std::int64_t total = 0;
  std::int64_t lowest_ns = INT64_MAX;
  std::int64_t highest_ns = 0;
  double sum_ns = 0;
  double sum_squares = 0;

  void add(std::int64_t lowest, std::int64_t highest, std::int64_t count) {
    if (count > INT64_MAX - total) fail("its counts exceed 2^63");
    total += count;
    lowest_ns = std::min(lowest_ns, lowest);
    highest_ns = std::max(highest_ns, highest);
    const double middle = static_cast<double>(lowest + (highest - lowest + 1) / 2);
    sum_ns += middle * static_cast<double>(count);
    sum_squares += middle * middle * static_cast<double>(count);
  }
};

}  // namespace

std::string Histogram::encode() const {
  std::string counts;
  int next = 0;
  const auto put_bucket = [&](int index, std::uint64_t count) {
    const int empty = index - next;
    // A run of one is written as the zero it is, as HdrHistogram does.
    if (empty > 0) put_zigzag(counts, empty == 1 ? 0 : -empty);
    put_zigzag(counts, static_cast<std::int64_t>(count));
    next = index + 1;
  };
  const auto [lowest, highest] = used();
  for (int index = lowest; index <= highest; ++index) {
    if (counts_[index] != 0) put_bucket(index, counts_[index]);
  }
  if (overflow_ != 0) put_bucket(kCounts - 1, overflow_);

  std::string payload;
  put(payload, kCookie | kWordSizeMark);
  put(payload, static_cast<std::uint32_t>(counts.size()));
  put(payload, std::uint32_t{0});  // normalizing index offset
  put(payload, static_cast<std::uint32_t>(kDigits));
  put(payload, std::uint64_t{1});  // lowest discernible value
  put(payload, static_cast<std::uint64_t>(highest_of(kCounts - 1)));
  put(payload, std::bit_cast<std::uint64_t>(1.0));  // integer-to-double ratio
  const std::string compressed = deflated(payload + counts);

  std::string out;
  put(out, kCompressedCookie | kWordSizeMark);
  put(out, static_cast<std::uint32_t>(compressed.size()));
  return out + compressed;
}

Histogram Histogram::decode(std::string_view bytes) {
  Reader outer(bytes);
  if ((outer.number<std::uint32_t>() & ~kWordSizeBits) != kCompressedCookie) fail("wrong cookie");
  const auto compressed_bytes = outer.number<std::uint32_t>();
  if (compressed_bytes > bytes.size() - kCompressedHeaderBytes) fail("it is truncated");
  const std::string payload = inflated(bytes.substr(kCompressedHeaderBytes, compressed_bytes));

  Reader header(payload);
  if ((header.number<std::uint32_t>() & ~kWordSizeBits) != kCookie) fail("wrong inner cookie");
  const auto counts_bytes = header.number<std::uint32_t>();
  if (header.number<std::uint32_t>() > kLargestUnshiftedOffset) fail("its indices are shifted");
  const Geometry geometry(header.number<std::uint32_t>());
  if (header.number<std::uint64_t>() != 1) fail("its lowest discernible value is not 1");
  header.number<std::uint64_t>();  // highest trackable value: the counts say it themselves
  const auto ratio = header.number<std::uint64_t>();
  if (ratio != std::bit_cast<std::uint64_t>(1.0) && ratio != kUnscaledAsInteger) {
    fail("it is of scaled values");
  }
  if (counts_bytes > payload.size() - kHeaderBytes) fail("its counts are truncated");

  Reader counts(std::string_view(payload).substr(kHeaderBytes, counts_bytes));
  Histogram histogram;
  Middles middles;
  read_counts(counts, geometry, [&](std::int64_t index, std::int64_t count) {
    const auto lowest_ns = static_cast<std::int64_t>(geometry.lowest_of(index));
    const std::int64_t highest_ns = geometry.highest_of(index);
    middles.add(lowest_ns, highest_ns, count);
    // The highest value is what a percentile of that bucket reports. Only a bucket that lies
    // wholly over 1 h overflows.
    histogram.record(
        lowest_ns > kHighestTrackable_ns ? highest_ns : std::min(highest_ns, kHighestTrackable_ns),
        static_cast<std::uint64_t>(count));
  });
  histogram.restore_exact(middles.lowest_ns, middles.highest_ns, middles.sum_ns,
                          middles.sum_squares);
  return histogram;
}

}  // namespace plimsoll
