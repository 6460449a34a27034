#include "rawio/device/bpf/block_probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "rawio/device/bpf/lane_reader.h"
// after the layout, whose types it names
#include "block_probe.skel.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// What libbpf says of a failure goes into our message, not to standard error.
thread_local std::string last_words;

int keep_last_words(enum libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char text[512];
  std::vsnprintf(text, sizeof(text), format, arguments);
  last_words = text;
  while (!last_words.empty() && last_words.back() == '\n') last_words.pop_back();
  std::replace(last_words.begin(), last_words.end(), '\n', ' ');
  return 0;
}

[[noreturn]] void fail(const std::string& what, int error) {
  if (error == EPERM || error == EACCES) {
    throw RefusedError(what + " isn't permitted: run as root, or with CAP_BPF and CAP_PERFMON");
  }
  throw BrokenError(fmt::format("{} failed: {}{}{}; the observer falls back to block statistics",
                                what, std::strerror(error), last_words.empty() ? "" : ": ",
                                last_words));
}

// Lanes of all CPUs, mapped into this process.
class Lanes {
 public:
  explicit Lanes(std::uint32_t count) : count_(count) {
    bpf_map_create_opts options{};
    options.sz = sizeof(options);
    options.map_flags = BPF_F_MMAPABLE;
    fd_ = OwnedFd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "plimsoll_lanes", sizeof(plm_u32),
                                 sizeof(plm_lane), count, &options));
    if (fd_.get() < 0) fail("making the observer's table", errno);
    void* mapped = mmap(nullptr, size_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (mapped == MAP_FAILED) fail("mapping the observer's table", errno);
    lanes_ = static_cast<plm_lane*>(mapped);
  }
  ~Lanes() { munmap(lanes_, size_bytes()); }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  int fd() const { return fd_.get(); }
  plm_lane* at(std::uint32_t index) { return lanes_ + index; }

 private:
  std::size_t size_bytes() const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (count_ * sizeof(plm_lane) + page - 1) / page * page;
  }
  static_assert(sizeof(plm_lane) % 8 == 0, "the kernel pads values to 8 bytes");

  std::uint32_t count_;
  OwnedFd fd_;
  plm_lane* lanes_;
};

bool has_trace_point(const btf& types, const std::string& name) {
  return btf__find_by_name_kind(&types, ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

bool may_load_programs() {
  constexpr std::uint64_t kSysAdmin = 1ull << 21;
  constexpr std::uint64_t kPerfmonAndBpf = 1ull << 38 | 1ull << 39;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("CapEff:", 0) != 0) continue;
    const auto held = std::stoull(line.substr(7), nullptr, 16);
    return (held & kSysAdmin) != 0 || (held & kPerfmonAndBpf) == kPerfmonAndBpf;
  }
  return false;
}

constexpr std::string_view kGroupNames[] = {"ours", "rest", "kernel"};

}  // namespace

std::string_view probe_operation_name(ProbeOperation operation) {
  static constexpr std::string_view kNames[] = {"read", "write", "flush", "discard", "other"};
  return kNames[static_cast<std::size_t>(operation)];
}

struct BlockProbe::Impl {
  std::vector<ProbeDisk> disks;
  ProbeOptions options;
  std::uint32_t groups;
  std::uint32_t cpus;
  std::unique_ptr<Lanes> lanes[2];
  int active = 0;
  std::unique_ptr<block_probe, decltype(&block_probe__destroy)> program{nullptr,
                                                                        &block_probe__destroy};
  OwnedFd statistics;

  Impl(std::vector<ProbeDisk> watched, const ProbeOptions& asked)
      : disks(std::move(watched)), options(asked), groups(asked.tell_processes_apart ? 3 : 1) {
    if (disks.empty() || disks.size() > PLM_MAX_DEVICES) {
      throw UsageError(
          fmt::format("{} disks to observe: name 1 to {}", disks.size(), PLM_MAX_DEVICES));
    }
    libbpf_set_print(keep_last_words);
    const int cpu_count = libbpf_num_possible_cpus();
    if (cpu_count < 0) fail("counting the CPUs", -cpu_count);
    cpus = static_cast<std::uint32_t>(cpu_count);
    for (auto& side : lanes) side = std::make_unique<Lanes>(cpus * lanes_per_cpu());
    program.reset(block_probe__open());
    if (!program) fail("opening the observer's kernel program", errno);
    configure();
    load();
  }

  std::uint32_t lanes_per_cpu() const { return static_cast<std::uint32_t>(disks.size()) * groups; }

  void configure() {
    auto& settings = *program->rodata;
    settings.device_count = static_cast<plm_u32>(disks.size());
    settings.group_count = groups;
    plm_u32 tags = 0;
    for (std::size_t i = 0; i < disks.size(); ++i) {
      settings.device_numbers[i] = disks[i].major << 20 | disks[i].minor;
      settings.bio_based[i] = disks[i].bio_based;
      settings.tag_base[i] = tags;
      settings.tags_per_queue[i] = disks[i].tags_per_queue;
      settings.hardware_queues[i] = disks[i].hardware_queues;
      tags += disks[i].tags_per_queue * disks[i].hardware_queues;
    }
    bpf_map__set_max_entries(program->maps.requests, std::max(tags, 1u));
    bpf_map__set_inner_map_fd(program->maps.active, lanes[0]->fd());
    choose_programs();
  }

  void choose_programs() {
    const auto is_bio = [](const ProbeDisk& disk) { return disk.bio_based; };
    const bool bios = std::any_of(disks.begin(), disks.end(), is_bio);
    const bool requests = !std::all_of(disks.begin(), disks.end(), is_bio);
    const bool starts = requests && groups > 1 && kernel_tells_starts();
    program->rodata->owner_at_start = starts;
    auto& programs = program->progs;
    bpf_program__set_autoload(programs.request_start, starts);
    bpf_program__set_autoload(programs.request_issue, requests);
    bpf_program__set_autoload(programs.request_requeue, requests);
    bpf_program__set_autoload(programs.request_complete, requests);
    bpf_program__set_autoload(programs.bio_queue, bios);
    bpf_program__set_autoload(programs.bio_complete, bios);
    bpf_program__set_autoload(programs.process_fork, groups > 1);
    if (!bios) bpf_map__set_max_entries(program->maps.bios, 1);
    if (groups == 1) bpf_map__set_max_entries(program->maps.our_processes, 1);
  }

  static bool kernel_tells_starts() {
    const std::unique_ptr<btf, decltype(&btf__free)> types(btf__load_vmlinux_btf(), &btf__free);
    return types && has_trace_point(*types, "block_io_start");
  }

  void load() {
    last_words.clear();
    if (const int error = block_probe__load(program.get())) {
      fail("loading the observer's kernel program", -error);
    }
    activate(0);
    for (auto& device : program->bss->devices) {
      std::fill(std::begin(device.last_end), std::end(device.last_end), UINT64_MAX);
    }
    if (options.measure_cost) statistics = OwnedFd(bpf_enable_stats(BPF_STATS_RUN_TIME));
    if (const int error = block_probe__attach(program.get())) {
      fail("attaching the observer to the kernel's block events", -error);
    }
  }

  // Returns when no program can hold the other lanes any more: the kernel waits for that after
  // changing an array of maps.
  void activate(int side) {
    const plm_u32 zero = 0;
    const int fd = lanes[side]->fd();
    if (bpf_map_update_elem(bpf_map__fd(program->maps.active), &zero, &fd, BPF_ANY) != 0) {
      fail("swapping the observer's tables", errno);
    }
    active = side;
  }

  ProbedDisk take(int side, std::uint32_t disk, std::uint32_t group) {
    auto taken = take_lanes(lanes[side]->at(disk * groups + group), lanes_per_cpu(), cpus);
    taken.name = disks[disk].name;
    taken.group = groups == 1 ? "all" : kGroupNames[group];
    taken.in_flight = std::max<plm_s64>(
        0, __atomic_load_n(&program->bss->devices[disk].in_flight, __ATOMIC_RELAXED));
    return taken;
  }
};

BlockProbe::BlockProbe(std::vector<ProbeDisk> disks, const ProbeOptions& options)
    : impl_(std::make_unique<Impl>(std::move(disks), options)) {}
BlockProbe::~BlockProbe() = default;
BlockProbe::BlockProbe(BlockProbe&&) noexcept = default;
BlockProbe& BlockProbe::operator=(BlockProbe&&) noexcept = default;

void BlockProbe::add_process(int process_id) {
  const plm_u32 key = static_cast<plm_u32>(process_id);
  const plm_u32 one = 1;
  if (bpf_map_update_elem(bpf_map__fd(impl_->program->maps.our_processes), &key, &one, BPF_ANY)) {
    fail(fmt::format("following process {}", process_id), errno);
  }
}

std::vector<ProbedDisk> BlockProbe::read() {
  const int full = impl_->active;
  impl_->activate(1 - full);
  std::vector<ProbedDisk> disks;
  for (std::uint32_t disk = 0; disk < impl_->disks.size(); ++disk) {
    for (std::uint32_t group = 0; group < impl_->groups; ++group) {
      disks.push_back(impl_->take(full, disk, group));
    }
  }
  return disks;
}

ProbeCost BlockProbe::cost() const {
  ProbeCost cost;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, impl_->program->obj) {
    const int fd = bpf_program__fd(program);
    bpf_prog_info info{};
    __u32 size = sizeof(info);
    if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) != 0) continue;
    cost.runs += info.run_cnt;
    cost.time_ns += static_cast<std::int64_t>(info.run_time_ns);
    cost.missed += info.recursion_misses;
  }
  return cost;
}

std::string probe_obstacle() {
  const std::unique_ptr<btf, decltype(&btf__free)> types(btf__load_vmlinux_btf(), &btf__free);
  if (!types) {
    return "the kernel has no type information (/sys/kernel/btf/vmlinux): use a kernel built with "
           "CONFIG_DEBUG_INFO_BTF";
  }
  for (const char* name : {"block_rq_issue", "block_rq_complete", "block_bio_queue"}) {
    if (!has_trace_point(*types, name)) {
      return fmt::format("the kernel has no trace point {}: use Linux 6.1 or later", name);
    }
  }
  if (!may_load_programs()) {
    return "this user may not load kernel programs: run as root, or with CAP_BPF and CAP_PERFMON";
  }
  return {};
}

}  // namespace plimsoll
