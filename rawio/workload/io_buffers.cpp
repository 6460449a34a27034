#include "rawio/workload/io_buffers.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "results/base/error.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

std::size_t round_to_page(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

IoBuffers::IoBuffers(std::uint32_t slots, std::uint32_t block_bytes, Random& random, bool apart)
    : written_at_(apart ? round_to_page(block_bytes) : 0),
      slot_bytes_(round_to_page(block_bytes) + written_at_),
      bytes_(slots * slot_bytes_) {
  void* data = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (data == MAP_FAILED) {
    throw RefusedError(fmt::format("no memory for {} of buffers: lower --depth, --jobs or --bs",
                                   format_size(bytes_)));
  }
  data_ = static_cast<std::byte*>(data);
  fill_random(all(), random);
}

IoBuffers::~IoBuffers() {
  ::munmap(data_, bytes_);
}

void fill_random(std::span<std::byte> bytes, Random& random) noexcept {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at));
  }
}

}  // namespace plimsoll
