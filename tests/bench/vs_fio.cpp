// Plimsoll against fio on the same device, turn by turn: `vs_fio PLIMSOLL [ROUNDS [SECONDS]]`. The
// device is a zram device of its own; 4 KiB random reads by one job, all histograms on. Prints each
// side's median IOPS, the median of the rounds' ratios, and the user CPU an I/O costs each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/lab/block_devices.h"
#include "tests/lab/process.h"
#include "tests/lab/temp_dir.h"

namespace {

using namespace plimsoll;

struct Case {
  const char* engine;
  int depth;
};
constexpr Case kCases[] = {{"libaio", 32}, {"io_uring", 32}, {"psync", 1}};

struct Run {
  double iops;
  double user_ns_per_io;
};

nlohmann::json run_json(const std::vector<std::string>& argv) {
  const auto result = lab::run_process(argv);
  if (result.exit_code != 0) throw std::runtime_error(argv.front() + ": " + result.err);
  return nlohmann::json::parse(result.out);
}

Run run_fio(const Case& test, const std::string& node, int seconds) {
  const auto json =
      run_json({"fio", "--name=x", "--filename=" + node, "--rw=randread", "--bs=4k", "--direct=1",
                fmt::format("--ioengine={}", test.engine), fmt::format("--iodepth={}", test.depth),
                "--time_based", fmt::format("--runtime={}", seconds), "--output-format=json"});
  const auto& job = json.at("jobs").at(0);
  const double iops = job.at("read").at("iops");
  return {iops, job.at("usr_cpu").get<double>() / 100 * 1e9 / iops};
}

Run run_plimsoll(const Case& test, const std::string& node, int seconds,
                 const std::string& program) {
  const lab::DeviceDir dir;
  const auto json =
      run_json({program, "raw", node, "--rw", "randread", "--bs", "4k", "--engine", test.engine,
                "--depth", std::to_string(test.depth), "--time", fmt::format("{}s", seconds),
                "--json", "--quiet", "--out", (dir.path() / "run").string()});
  const auto& read = json.at("operations").at("read");
  return {read.at("iops"),
          json.at("cpu").at("user_s").get<double>() * 1e9 / read.at("count").get<double>()};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const Case& test, const std::string& node, const std::string& program, int rounds,
             int seconds) {
  std::vector<double> ours, fios, ratios, our_cpu, fio_cpu;
  for (int round = 0; round < rounds; ++round) {
    const Run fio = run_fio(test, node, seconds);
    const Run own = run_plimsoll(test, node, seconds, program);
    ours.push_back(own.iops);
    fios.push_back(fio.iops);
    ratios.push_back(own.iops / fio.iops);
    our_cpu.push_back(own.user_ns_per_io);
    fio_cpu.push_back(fio.user_ns_per_io);
  }
  fmt::print(
      "{:8} depth {:2}: plimsoll {:7.0f} IOPS, fio {:7.0f}, ratio {:.2f}; user ns an I/O {:.0f} "
      "and "
      "{:.0f}, ratio {:.2f}\n",
      test.engine, test.depth, median(ours), median(fios), median(ratios), median(our_cpu),
      median(fio_cpu), median(our_cpu) / median(fio_cpu));
  std::fflush(stdout);
}

// Reads of pages that were never written are answered without the compressor, at thrice the rate.
void fill(const std::string& node) {
  const auto result = lab::run_process(
      {"dd", "if=/dev/urandom", "of=" + node, "bs=1M", "count=512", "oflag=direct"});
  if (result.exit_code != 0) throw std::runtime_error("can't fill " + node + ": " + result.err);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: vs_fio PLIMSOLL [ROUNDS [SECONDS]]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const int seconds = argc > 3 ? std::atoi(argv[3]) : 3;
  try {
    if (!lab::has_program("fio")) throw lab::Unavailable("no fio: apt-get install fio");
    const lab::ZramDevice device(512ull << 20);
    fill(device.node());
    for (const auto& test : kCases) compare(test, device.node(), argv[1], rounds, seconds);
  } catch (const lab::Unavailable& reason) {
    fmt::print("SKIPPED: vs_fio: {}\n", reason.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "vs_fio: {}\n", error.what());
    return 1;
  }
  return 0;
}
