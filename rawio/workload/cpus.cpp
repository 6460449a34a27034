#include "rawio/workload/cpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr int kMostCpus = 8192;

[[noreturn]] void refuse_cpus(const std::string& text) {
  throw UsageError(fmt::format("\"{}\" is no list of processors: write it as 0,2-5", text));
}

int cpu_number(std::string_view part, const std::string& text) {
  int cpu = -1;
  const auto read = std::from_chars(part.data(), part.data() + part.size(), cpu);
  if (read.ec != std::errc() || read.ptr != part.data() + part.size() || cpu < 0 ||
      cpu >= kMostCpus) {
    refuse_cpus(text);
  }
  return cpu;
}

// A set of the size this kernel wants, however many processors there are.
struct CpuSet {
  CpuSet() : set(CPU_ALLOC(kMostCpus)), bytes(CPU_ALLOC_SIZE(kMostCpus)) { CPU_ZERO_S(bytes, set); }
  ~CpuSet() { CPU_FREE(set); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  cpu_set_t* set;
  std::size_t bytes;
};

std::vector<int> node_list(const SystemRoots& roots, const std::string& name) {
  const auto text = read_line(roots.sys / "devices/system/node" / name);
  return text ? parse_cpu_list(*text) : std::vector<int>();
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::set<int> cpus;
  std::size_t start = 0;
  while (start <= text.size()) {
    const auto end = std::min(text.find(',', start), text.size());
    const std::string_view part = std::string_view(text).substr(start, end - start);
    const auto dash = part.find('-');
    const int first = cpu_number(part.substr(0, dash), text);
    const int last =
        dash == std::string_view::npos ? first : cpu_number(part.substr(dash + 1), text);
    if (last < first) refuse_cpus(text);
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    start = end + 1;
  }
  return {cpus.begin(), cpus.end()};
}

std::vector<int> allowed_cpus() {
  const CpuSet allowed;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, allowed.bytes, allowed.set) != 0) return cpus;
  for (int cpu = 0; cpu < kMostCpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), allowed.bytes, allowed.set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> cpus_of_node(int node, const SystemRoots& roots) {
  if (node < 0 || node_list(roots, "online").size() < 2) return {};
  const auto allowed = allowed_cpus();
  std::vector<int> cpus;
  for (const int cpu : node_list(roots, fmt::format("node{}/cpulist", node))) {
    if (std::binary_search(allowed.begin(), allowed.end(), cpu)) cpus.push_back(cpu);
  }
  return cpus;
}

void keep_thread_on(const std::vector<int>& cpus) {
  const CpuSet wanted;
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), wanted.bytes, wanted.set);
  if (::sched_setaffinity(0, wanted.bytes, wanted.set) == 0) return;
  throw UsageError(fmt::format("the processors {} can't be had: this process may use {}",
                               fmt::join(cpus, ","), fmt::join(allowed_cpus(), ",")));
}

}  // namespace plimsoll
