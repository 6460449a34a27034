// How requests reach the kernel. One file an engine; `null` completes at once and so measures
// Plimsoll itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

enum class IoOperation : std::uint8_t { kRead, kWrite, kFlush, kDataFlush, kTrim };

// "read", "write", "flush" (both kinds of it), "trim": the names in records and JSON.
std::string_view operation_name(IoOperation operation);

struct IoRequest {
  IoOperation operation;
  std::uint32_t slot;    // 0..depth-1, the caller's name for it; one request a slot at a time
  std::uint32_t file;    // index into the opened files
  std::uint32_t length;  // bytes; for trim at most 4 GiB - 1; 0 for flushes
  std::uint64_t offset;
  std::byte* buffer;  // inside the registered area of its slot; null for flush and trim
  bool durable = false;  // of a write: it completes when the data is on the medium (RWF_DSYNC)
};

struct IoCompletion {
  std::uint32_t slot;
  std::int64_t result;  // bytes moved, or -errno
};

struct EngineSetup {
  std::vector<int> files;  // opened by the caller, who closes them after the engine
  std::uint32_t depth = 1;
  std::span<std::byte> buffers;  // depth x equal parts; aligned to the page
  bool registered = true;        // register buffers and files where the kernel allows
  bool polled = false;           // io_uring IOPOLL
  bool kernel_thread = false;    // io_uring SQPOLL
};

struct EngineLimits {
  std::uint32_t max_depth;  // psync: 1
  bool asynchronous;
  // What was asked and couldn't be had, in words ("buffers not registered: locked-memory limit
  // 8 MiB"); empty when all was.
  std::vector<std::string> shortfalls;
};

// Used by one thread. Destroying it while requests are in flight waits for them.
class IoEngine {
 public:
  virtual ~IoEngine() = default;

  // Once, before the first submit. Throws RefusedError where the kernel lacks the facility (naming
  // it) and UsageError for a depth above the engine's.
  virtual void open(const EngineSetup& setup) = 0;

  // Hands over a prefix of `requests` and returns its length; a short count is back-pressure: reap,
  // then submit the rest. Never blocks for a completion, except psync, where submit is the I/O. A
  // request the kernel refuses outright is accepted and completes with -errno. What was handed over
  // last may reach the kernel with the next submit or reap only, which is to follow at once.
  virtual std::uint32_t submit(std::span<const IoRequest> requests) noexcept = 0;

  // Waits until at least `minimum` completions are there or `timeout_ns` has passed (negative: no
  // limit; 0: poll), then gives up to completions.size() of them. Returns how many. Never waits for
  // more than are in flight.
  virtual std::uint32_t reap(std::uint32_t minimum, std::span<IoCompletion> completions,
                             std::int64_t timeout_ns) noexcept = 0;

  virtual EngineLimits limits() const = 0;
};

// One row an engine: its name on the command line and how to make it.
struct EngineKind {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<IoEngine> (*make)();
};

// Those built in; "null" included.
const std::vector<EngineKind>& engine_kinds();
// Throws UsageError naming those there are.
std::unique_ptr<IoEngine> make_engine(std::string_view name);

}  // namespace plimsoll
