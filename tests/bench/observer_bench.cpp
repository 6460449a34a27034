// What the eBPF observer costs: fio's random reads on a loop device over memory, in alternating
// runs without it, with it, and with it while the kernel counts its cost.
//   observer_bench [SECONDS A RUN = 3] [ROUNDS = 5] [DEVICE]
// A given DEVICE is only read.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "rawio/device/bpf/block_probe.h"
#include "tests/lab/block_devices.h"
#include "tests/lab/process.h"

using namespace plimsoll;

namespace {

struct Run {
  double iops = 0;
  double ns_per_io = 0;  // in the kernel's programs; 0 when not counted
  std::uint64_t missed = 0;
};

double fio_iops(const std::string& node, int seconds) {
  lab::ProcessOptions limit;
  limit.timeout = std::chrono::seconds(seconds + 30);
  const auto done = lab::run_process(
      {"fio", "--name=bench", "--filename=" + node, "--readonly", "--rw=randread", "--bs=4k",
       "--direct=1", "--ioengine=libaio", "--iodepth=32", "--time_based",
       "--runtime=" + std::to_string(seconds), "--norandommap", "--output-format=json"},
      limit);
  if (done.exit_code != 0) throw std::runtime_error("fio failed: " + done.err);
  const auto start = done.out.find('{');
  return nlohmann::json::parse(done.out.substr(start))["jobs"][0]["read"]["iops"];
}

enum Mode { kOff, kOn, kCounted, kModes };

Run run(const std::string& node, const std::string& name, int seconds, Mode mode) {
  std::optional<BlockProbe> probe;
  if (mode != kOff) {
    probe.emplace(std::vector{probe_disk(name)}, ProbeOptions{.measure_cost = mode == kCounted});
  }
  Run run;
  run.iops = fio_iops(node, seconds);
  if (!probe) return run;
  const auto disk = probe->read().at(0);
  const auto ios = disk.at(ProbeOperation::kRead).count;
  run.missed = probe->cost().missed;
  if (mode == kCounted && ios != 0) {
    run.ns_per_io = static_cast<double>(probe->cost().time_ns) / static_cast<double>(ios);
  }
  return run;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void bench(const std::string& node, const std::string& name, int seconds, int rounds) {
  std::vector<double> iops[kModes];
  std::vector<double> cost_ns;
  std::uint64_t missed = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const Mode mode : {kOff, kOn, kCounted}) {
      const auto done = run(node, name, seconds, mode);
      iops[mode].push_back(done.iops);
      missed += done.missed;
      if (mode == kCounted) cost_ns.push_back(done.ns_per_io);
    }
  }
  const double off = median(iops[kOff]);
  fmt::print("{}: off {:.0f} IOPS, on {:.0f} ({:+.1f} %), on and counted {:.0f} ({:+.1f} %)\n",
             node, off, median(iops[kOn]), 100 * (median(iops[kOn]) / off - 1),
             median(iops[kCounted]), 100 * (median(iops[kCounted]) / off - 1));
  // The kernel counts what takes the processor from a program too: the least is the program's.
  fmt::print("{:.0f} ns an I/O in the kernel's programs (least of the runs {:.0f}), {} missed\n",
             median(cost_ns), *std::min_element(cost_ns.begin(), cost_ns.end()), missed);
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::stoi(argv[1]) : 3;
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 5;
  if (const auto why = probe_obstacle(); !why.empty()) {
    fmt::print("SKIPPED: bench: observer: {}\n", why);
    return 0;
  }
  if (!lab::has_program("fio")) {
    fmt::print("SKIPPED: bench: observer: no fio\n");
    return 0;
  }
  if (argc > 3) {
    const std::string node = argv[3];
    bench(node, node.substr(node.rfind('/') + 1), seconds, rounds);
    return 0;
  }
  try {
    const lab::LoopDevice loop;
    bench(loop.node(), loop.name(), seconds, rounds);
  } catch (const lab::Unavailable& reason) {
    fmt::print("SKIPPED: bench: observer: {}\n", reason.what());
  }
}
