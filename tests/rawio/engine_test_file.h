// A real file, written and opened without the page cache, for tests of engines; gone after them.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace plimsoll::test {

// Memory aligned to the page.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::span<std::byte> span() { return {data_, bytes_}; }
  std::byte* at(std::size_t offset) { return data_ + offset; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

class DirectFile {
 public:
  explicit DirectFile(std::uint64_t size_bytes)
      : fd_(::open(".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw std::runtime_error("the tests' folder takes no O_DIRECT file");
    write_all(size_bytes);
  }
  ~DirectFile() { ::close(fd_); }
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;
  int fd() const { return fd_; }

 private:
  // Reads of extents that were only reserved never reach the drive.
  void write_all(std::uint64_t size_bytes) {
    Pages pages(size_bytes);
    if (::pwrite(fd_, pages.at(0), size_bytes, 0) != static_cast<ssize_t>(size_bytes)) {
      throw std::runtime_error("no space for the tests' file");
    }
  }

  int fd_;
};

}  // namespace plimsoll::test
