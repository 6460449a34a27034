// The kernel's block trace points without eBPF: through perf's ring buffers, which end with the
// process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace plimsoll {

struct TraceEvent {
  enum class Kind : std::uint8_t { kIssue, kComplete, kBioQueue, kBioComplete };
  std::int64_t at_ns = 0;  // Clock
  std::uint64_t sector = 0;
  std::uint32_t sectors = 0;  // of 512 bytes
  std::uint32_t device = 0;   // major << 20 | minor
  std::int32_t error = 0;     // errno of a completion
  Kind kind = Kind::kIssue;
  char operation = 0;  // 'R', 'W', 'F' flush, 'D' discard, 'N' anything else
};

// 'F' stands for a flush before the operation, or for one that is nothing else.
char operation_of_flags(const char* rwbs);

// Used by one thread.
class TraceEvents {
 public:
  // Events of these devices (major << 20 | minor) from now on. Throws RefusedError where they can't
  // be had.
  explicit TraceEvents(const std::vector<std::uint32_t>& devices);
  ~TraceEvents();
  TraceEvents(const TraceEvents&) = delete;
  TraceEvents& operator=(const TraceEvents&) = delete;

  // Appends what the buffers hold; ordered within a CPU only. 2 MiB a CPU: to be called at least
  // every 10 ms a million events a second and CPU.
  void drain(std::vector<TraceEvent>& events);
  // Events the kernel had no room for, since the start.
  std::uint64_t lost() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Empty when TraceEvents can be had; otherwise why not, and what mends it.
std::string trace_obstacle();

}  // namespace plimsoll
