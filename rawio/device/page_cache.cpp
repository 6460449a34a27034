#include "rawio/device/page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "rawio/device/system_sampler.h"
#include "results/base/error.h"

namespace plimsoll {

namespace {

constexpr std::uint64_t kWindow_bytes = 1u
                                        << 30;  // mapped at a time; a multiple of every page size

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) fail("open");
  }
  ~OpenFile() { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int fd() const { return fd_; }
  // Block devices have no st_size; their end can be sought.
  std::uint64_t size_bytes() const {
    const off_t end = lseek(fd_, 0, SEEK_END);
    if (end < 0) fail("size");
    return static_cast<std::uint64_t>(end);
  }
  [[noreturn]] void fail(const char* what) const {
    throw BrokenError(fmt::format("can't {} {}: {}; check that it is there and readable", what,
                                  path_.string(), std::strerror(errno)));
  }

 private:
  std::filesystem::path path_;
  int fd_;
};

std::uint64_t resident_pages(const OpenFile& file, std::uint64_t offset, std::uint64_t length,
                             std::uint64_t page_bytes) {
  void* const map =
      mmap(nullptr, length, PROT_READ, MAP_SHARED, file.fd(), static_cast<off_t>(offset));
  if (map == MAP_FAILED) file.fail("map");
  std::vector<unsigned char> pages((length + page_bytes - 1) / page_bytes);
  const int outcome = mincore(map, length, pages.data());
  munmap(map, length);
  if (outcome != 0) file.fail("look into the cache of");
  return static_cast<std::uint64_t>(std::count_if(
      pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

CacheFacts facts_of(const OpenFile& file) {
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  CacheFacts facts{.size_bytes = file.size_bytes()};
  for (std::uint64_t offset = 0; offset < facts.size_bytes; offset += kWindow_bytes) {
    const auto length = std::min(kWindow_bytes, facts.size_bytes - offset);
    facts.resident_bytes += resident_pages(file, offset, length, page_bytes) * page_bytes;
  }
  facts.resident_bytes = std::min(facts.resident_bytes, facts.size_bytes);
  return facts;
}

}  // namespace

CacheFacts page_cache_of(const std::filesystem::path& path) {
  return facts_of(OpenFile(path));
}

CacheFacts drop_page_cache(const std::filesystem::path& path) {
  const OpenFile file(path);
  if (fdatasync(file.fd()) != 0) file.fail("write back");
  const int error = posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  if (error != 0) {
    errno = error;
    file.fail("drop the cache of");
  }
  return facts_of(file);
}

std::optional<MachineMemory> machine_memory(const SystemRoots& roots) {
  const auto text = read_text(roots.proc / "meminfo").value_or("");
  const auto total = meminfo_bytes(text, "MemTotal");
  const auto available = meminfo_bytes(text, "MemAvailable");
  if (!total || !available) return {};
  return MachineMemory{*total, *available};
}

}  // namespace plimsoll
