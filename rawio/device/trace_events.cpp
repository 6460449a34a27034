#include "rawio/device/trace_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "rawio/device/sysfs.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr std::size_t kBufferPages = 512;  // a power of two, as perf demands

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// tracefs as a folder: where it is mounted, or else mounted nowhere, for this process alone.
Fd open_tracefs() {
  for (const char* path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    Fd folder(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder && faccessat(folder.get(), "events/block", F_OK, 0) == 0) return folder;
  }
  Fd context(static_cast<int>(syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context) return Fd();
  if (syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Fd();
  }
  return Fd(static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
}

std::string read_at(const Fd& folder, const std::string& path) {
  const Fd file(openat(folder.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got; file && (got = read(file.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// "field:sector_t sector;	offset:16;	size:8;	signed:0;": where a field lies in an event.
std::optional<std::size_t> field_offset(const std::string& format, const std::string& field) {
  for (const std::string& end : {" " + field + ";", " " + field + "["}) {
    const auto at = format.find(end);
    if (at == std::string::npos) continue;
    const auto offset = format.find("offset:", at);
    if (offset != std::string::npos) return std::stoul(format.substr(offset + 7));
  }
  return {};
}

struct EventRow {
  TraceEvent::Kind kind;
  const char* name;
};

constexpr EventRow kEvents[] = {
    {TraceEvent::Kind::kIssue, "block_rq_issue"},
    {TraceEvent::Kind::kComplete, "block_rq_complete"},
    {TraceEvent::Kind::kBioQueue, "block_bio_queue"},
    {TraceEvent::Kind::kBioComplete, "block_bio_complete"},
};

struct EventLayout {
  TraceEvent::Kind kind;
  std::uint16_t id;
  std::size_t device;
  std::size_t sector;
  std::size_t sectors;
  std::size_t flags;
  std::optional<std::size_t> error;
};

std::optional<EventLayout> read_layout(const Fd& tracefs, const EventRow& row) {
  const std::string folder = std::string("events/block/") + row.name;
  const auto id = parse_number<std::uint16_t>(trimmed(read_at(tracefs, folder + "/id")));
  const std::string format = read_at(tracefs, folder + "/format");
  const auto device = field_offset(format, "dev");
  const auto sector = field_offset(format, "sector");
  const auto sectors = field_offset(format, "nr_sector");
  const auto flags = field_offset(format, "rwbs");
  if (!id || !device || !sector || !sectors || !flags) return {};
  return EventLayout{
      row.kind, *id, *device, *sector, *sectors, *flags, field_offset(format, "error")};
}

template <typename Number>
Number number_at(const char* data, std::size_t offset) {
  Number number;
  std::memcpy(&number, data + offset, sizeof(number));
  return number;
}

TraceEvent decode(const EventLayout& layout, const char* data) {
  TraceEvent event;
  event.kind = layout.kind;
  event.device = number_at<std::uint32_t>(data, layout.device);
  event.sector = number_at<std::uint64_t>(data, layout.sector);
  event.sectors = number_at<std::uint32_t>(data, layout.sectors);
  event.operation = operation_of_flags(data + layout.flags);
  if (layout.error) event.error = std::abs(number_at<std::int32_t>(data, *layout.error));
  return event;
}

Fd open_event(const EventLayout& layout, int cpu) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = layout.id;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.disabled = 1;
  return Fd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

[[noreturn]] void refuse(const std::string& what) {
  const int error = errno;
  if (error == EPERM || error == EACCES) {
    throw RefusedError(what + " isn't permitted: run as root, or with CAP_PERFMON");
  }
  throw RefusedError(fmt::format("{}: {}", what, std::strerror(error)));
}

// What one CPU's events went into.
class CpuBuffer {
 public:
  CpuBuffer(const std::vector<EventLayout>& layouts, const std::string& filter, int cpu) {
    for (const auto& layout : layouts) add(layout, filter, cpu);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    size_bytes_ = kBufferPages * page;
    void* mapped = mmap(nullptr, page + size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED,
                        events_.front().get(), 0);
    if (mapped == MAP_FAILED) refuse("mapping a buffer for block events");
    control_ = static_cast<perf_event_mmap_page*>(mapped);
    data_ = static_cast<char*>(mapped) + page;
    for (std::size_t i = 1; i < events_.size(); ++i) {
      if (ioctl(events_[i].get(), PERF_EVENT_IOC_SET_OUTPUT, events_.front().get()) != 0) {
        refuse("joining block events");
      }
    }
    for (const auto& event : events_) ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0);
  }
  CpuBuffer(CpuBuffer&& other) noexcept
      : events_(std::move(other.events_)),
        control_(std::exchange(other.control_, nullptr)),
        data_(other.data_),
        size_bytes_(other.size_bytes_) {}
  ~CpuBuffer() {
    if (control_) munmap(control_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + size_bytes_);
  }

  template <typename Fn>
  void for_each_record(Fn&& fn) {
    const std::uint64_t head = __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = control_->data_tail;
    while (tail < head) {
      perf_event_header header;
      copy(tail, sizeof(header), reinterpret_cast<char*>(&header));
      record_.resize(header.size);
      copy(tail, header.size, record_.data());
      fn(header.type, record_.data() + sizeof(header));
      tail += header.size;
    }
    __atomic_store_n(&control_->data_tail, tail, __ATOMIC_RELEASE);
  }

 private:
  void add(const EventLayout& layout, const std::string& filter, int cpu) {
    events_.push_back(open_event(layout, cpu));
    if (!events_.back()) refuse("opening the kernel's block events");
    if (ioctl(events_.back().get(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0) {
      refuse("filtering the kernel's block events");
    }
  }

  // A record may run over the end of the ring.
  void copy(std::uint64_t from, std::size_t bytes, char* to) const {
    const std::size_t start = from & (size_bytes_ - 1);
    const std::size_t first = std::min(bytes, size_bytes_ - start);
    std::memcpy(to, data_ + start, first);
    std::memcpy(to + first, data_, bytes - first);
  }

  std::vector<Fd> events_;
  perf_event_mmap_page* control_ = nullptr;
  char* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::vector<char> record_;
};

std::string device_filter(const std::vector<std::uint32_t>& devices) {
  std::string filter;
  for (const auto device : devices) {
    filter += fmt::format("{}dev == {}", filter.empty() ? "" : " || ", device);
  }
  return filter;
}

std::vector<int> online_cpus() {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
    const auto online = read_flag(fmt::format("/sys/devices/system/cpu/cpu{}/online", cpu));
    if (online.value_or(true)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<EventLayout> read_layouts() {
  const Fd tracefs = open_tracefs();
  if (!tracefs) refuse("opening tracefs, which describes the kernel's block events,");
  std::vector<EventLayout> layouts;
  for (const auto& row : kEvents) {
    if (auto layout = read_layout(tracefs, row)) layouts.push_back(*layout);
  }
  if (layouts.size() == std::size(kEvents)) return layouts;
  throw RefusedError(
      "the kernel has no block events in tracefs: use one built with CONFIG_BLK_DEV_IO_TRACE");
}

}  // namespace

char operation_of_flags(const char* rwbs) {
  const bool flush_first = rwbs[0] == 'F' && rwbs[1] != '\0' && std::strchr("RWDFN", rwbs[1]);
  const char operation = rwbs[flush_first ? 1 : 0];
  return operation != '\0' && std::strchr("RWDF", operation) ? operation : 'N';
}

struct TraceEvents::Impl {
  std::vector<EventLayout> layouts = read_layouts();
  std::vector<CpuBuffer> buffers;
  std::uint64_t lost = 0;

  explicit Impl(const std::vector<std::uint32_t>& devices) {
    const std::string filter = device_filter(devices);
    for (const int cpu : online_cpus()) buffers.emplace_back(layouts, filter, cpu);
  }

  void add(const char* body, std::vector<TraceEvent>& events) const {
    const char* data = body + sizeof(std::uint64_t) + sizeof(std::uint32_t);  // after time and size
    const auto id = number_at<std::uint16_t>(data, 0);
    for (const auto& layout : layouts) {
      if (layout.id != id) continue;
      events.push_back(decode(layout, data));
      events.back().at_ns = number_at<std::int64_t>(body, 0);
    }
  }
};

TraceEvents::TraceEvents(const std::vector<std::uint32_t>& devices)
    : impl_(std::make_unique<Impl>(devices)) {}
TraceEvents::~TraceEvents() = default;

void TraceEvents::drain(std::vector<TraceEvent>& events) {
  for (auto& buffer : impl_->buffers) {
    buffer.for_each_record([&](std::uint32_t type, const char* body) {
      if (type == PERF_RECORD_SAMPLE) impl_->add(body, events);
      if (type == PERF_RECORD_LOST) impl_->lost += number_at<std::uint64_t>(body, 8);
    });
  }
}

std::uint64_t TraceEvents::lost() const {
  return impl_->lost;
}

std::string trace_obstacle() {
  try {
    TraceEvents({0});  // of no device
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace plimsoll
