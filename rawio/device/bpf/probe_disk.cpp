#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "rawio/device/bpf/block_probe.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::uint32_t read_number(const fs::path& path) {
  std::uint32_t number = 0;
  std::ifstream(path) >> number;
  return number;
}

// Each hardware queue has a folder mq/N. The scheduler's tags (nr_requests) may be more than the
// driver's.
void read_queues(const fs::path& disk, ProbeDisk& probed) {
  std::error_code none;
  for (const auto& queue : fs::directory_iterator(disk / "mq", none)) {
    const auto number = static_cast<std::uint32_t>(std::stoul(queue.path().filename()));
    probed.hardware_queues = std::max(probed.hardware_queues, number + 1);
    probed.tags_per_queue = std::max(probed.tags_per_queue, read_number(queue.path() / "nr_tags"));
  }
  probed.tags_per_queue =
      std::max(probed.tags_per_queue, read_number(disk / "queue" / "nr_requests"));
}

}  // namespace

ProbeDisk probe_disk(const std::string& name) {
  const fs::path disk = fs::path("/sys/block") / name;
  std::ifstream dev(disk / "dev");
  ProbeDisk probed;
  probed.name = name;
  char colon = 0;
  if (!(dev >> probed.major >> colon >> probed.minor)) {
    throw UsageError(fmt::format("no disk '{}': name one of /sys/block", name));
  }
  probed.bio_based = !fs::exists(disk / "mq");
  if (!probed.bio_based) read_queues(disk, probed);
  return probed;
}

}  // namespace plimsoll
