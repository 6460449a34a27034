// A limit on the memory of a process tree, page cache included.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace plimsoll {

// A control group of the memory controller (v2, or v1 where that holds it), beside or beneath our
// own, removed by the destructor. Processes enter it by writing their id into procs_file(), their
// children follow. It must outlive all that entered it. Needs root or a delegated group.
class MemoryBound {
 public:
  // `limit_bytes` > 0; the kernel rounds it down to pages. Throws RefusedError that says what is
  // missing.
  explicit MemoryBound(std::uint64_t limit_bytes);
  ~MemoryBound();
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;

  std::filesystem::path procs_file() const { return group_ / "cgroup.procs"; }
  // This whole process, for a database that runs inside it. The destructor moves it back.
  void enter();
  std::uint64_t limit_bytes() const;    // as the kernel has it
  std::uint64_t current_bytes() const;  // charged now, page cache included

 private:
  std::filesystem::path group_;
  std::filesystem::path left_group_;  // where enter() came from
  bool v2_ = false;
};

// What the process and its page cache may fill: the machine's memory, or less where its control
// group or one above holds it to less. Empty when there is no such process here.
std::optional<std::uint64_t> memory_bytes_of(pid_t pid);

}  // namespace plimsoll
