#include "rawio/workload/written_extents.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace plimsoll {
namespace {

constexpr std::uint32_t kExtentsACall = 512;

// A FIEMAP request with room for its answer.
class ExtentMap {
 public:
  ExtentMap()
      : words_(std::make_unique<std::uint64_t[]>(
            (sizeof(fiemap) + kExtentsACall * sizeof(fiemap_extent)) / sizeof(std::uint64_t) + 1)),
        map_(reinterpret_cast<fiemap*>(words_.get())) {}

  bool ask(int file, std::uint64_t start, std::uint64_t length) {
    *map_ = {};
    map_->fm_start = start;
    map_->fm_length = length;
    map_->fm_flags = FIEMAP_FLAG_SYNC;
    map_->fm_extent_count = kExtentsACall;
    return ::ioctl(file, FS_IOC_FIEMAP, map_) == 0;
  }
  const fiemap_extent* begin() const { return map_->fm_extents; }
  const fiemap_extent* end() const { return begin() + map_->fm_mapped_extents; }

 private:
  std::unique_ptr<std::uint64_t[]> words_;
  fiemap* map_;
};

std::optional<std::uint64_t> written_by_fiemap(int file, std::uint64_t start, std::uint64_t end) {
  ExtentMap map;
  std::uint64_t written = 0;
  std::uint64_t at = start;
  while (at < end) {
    if (!map.ask(file, at, end - at)) return std::nullopt;
    if (map.begin() == map.end()) break;
    for (const auto& extent : map) {
      const std::uint64_t from = std::max<std::uint64_t>(extent.fe_logical, at);
      const std::uint64_t to = std::min<std::uint64_t>(end, extent.fe_logical + extent.fe_length);
      if ((extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) == 0 && to > from) written += to - from;
      at = std::max(at, to);
    }
    if (((map.end() - 1)->fe_flags & FIEMAP_EXTENT_LAST) != 0) break;
  }
  return written;
}

std::optional<std::uint64_t> written_by_seek(int file, std::uint64_t start, std::uint64_t end) {
  std::uint64_t written = 0;
  for (auto at = static_cast<off_t>(start); at < static_cast<off_t>(end);) {
    const off_t data = ::lseek(file, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    if (data < 0) return std::nullopt;
    const off_t hole = ::lseek(file, data, SEEK_HOLE);
    if (hole < 0) return std::nullopt;
    const auto to = std::min<std::uint64_t>(end, static_cast<std::uint64_t>(hole));
    if (to > static_cast<std::uint64_t>(data)) written += to - static_cast<std::uint64_t>(data);
    at = hole;
  }
  return written;
}

}  // namespace

std::optional<std::uint64_t> unwritten_bytes(int file, std::uint64_t offset, std::uint64_t length) {
  auto written = written_by_fiemap(file, offset, offset + length);
  if (!written) written = written_by_seek(file, offset, offset + length);
  if (!written) return std::nullopt;
  return length - *written;
}

}  // namespace plimsoll
