// Filling a file that was made: in large direct writes, every byte random.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rawio/workload/io_buffers.h"
#include "rawio/workload/target.h"
#include "results/base/error.h"
#include "results/measure/clock.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kFillBlock_bytes = 4u << 20;
constexpr std::int64_t kTell_ns = 1'000'000'000;

// Says once a second how far the fill is.
class FillProgress {
 public:
  FillProgress(const ProgressSink& sink, std::uint64_t size_bytes)
      : sink_(sink), size_bytes_(size_bytes) {}

  void at(std::uint64_t done_bytes) {
    const std::int64_t now_ns = SystemClock::instance().now_ns();
    if (!sink_ || now_ns < told_ns_ + kTell_ns) return;
    told_ns_ = now_ns;
    Progress progress;
    progress.phase = "fill";
    progress.unit = "MiB/s";
    progress.fraction = static_cast<double>(done_bytes) / static_cast<double>(size_bytes_);
    const double seconds = static_cast<double>(now_ns - start_ns_) * 1e-9;
    progress.rate_per_s = static_cast<double>(done_bytes) / 0x1p20 / seconds;
    progress.left_ns = static_cast<std::int64_t>((1 / std::max(progress.fraction, 1e-9) - 1) *
                                                 static_cast<double>(now_ns - start_ns_));
    sink_(progress);
  }

 private:
  const ProgressSink& sink_;
  std::uint64_t size_bytes_;
  std::int64_t start_ns_ = SystemClock::instance().now_ns();
  std::int64_t told_ns_ = start_ns_;
};

void write_all(int file, std::span<const std::byte> bytes, std::uint64_t offset,
               const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t moved = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) {
      throw BrokenError(fmt::format("filling {} failed at {}: {}", name, offset,
                                    std::strerror(moved < 0 ? errno : ENOSPC)));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
    offset += static_cast<std::uint64_t>(moved);
  }
}

}  // namespace

void RawTarget::fill(std::uint64_t seed, const std::stop_token& stop,
                     const ProgressSink& progress) {
  if (kind_ != TargetKind::kMadeFile) return;
  Random random(seed);
  const IoBuffers buffers(1, kFillBlock_bytes, random);
  FillProgress told(progress, shape_.size_bytes);
  for (std::uint64_t at = 0; at < shape_.size_bytes; at += kFillBlock_bytes) {
    if (stop.stop_requested()) {
      throw Error(ExitCode::kInterrupted, "interrupted while the file was filled; nothing is left");
    }
    fill_random(buffers.all(), random);
    const auto length = std::min<std::uint64_t>(kFillBlock_bytes, shape_.size_bytes - at);
    write_all(fd_, buffers.all().first(length), at, shape_.name);
    told.at(at + length);
  }
  if (::fsync(fd_) != 0) {
    throw BrokenError(fmt::format("flushing {} failed: {}", shape_.name, std::strerror(errno)));
  }
}

}  // namespace plimsoll
