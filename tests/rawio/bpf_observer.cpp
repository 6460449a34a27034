// What the eBPF observer writes for the record, and how the best observer is chosen.
#include "rawio/device/bpf/bpf_observer.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/rawio/observer_lab.h"

using namespace plimsoll;
using namespace plimsoll::lab;

TEST_CASE("the eBPF observer's rows hold exactly what was done") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::QueueSetting cache(loop->name(), "write_cache", "write back");
  const lab::QueueSetting iostats(loop->name(), "iostats", "1");
  check_counts<BpfObserver>(loop->node(), loop->name());
}

TEST_CASE("every level of a stack is watched, its partitions too") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::QueueSetting iostats(loop->name(), "iostats", "1");
  loop->add_partition(1, 1 << 20, 16 << 20);
  BpfObserver observer;
  observer.start(identify(loop->node() + "p1"), now_ns());
  {
    TimedFile file(loop->node() + "p1");
    for (int i = 0; i < 15; ++i) REQUIRE(file.read(4096, i * 4096));
  }
  const auto sample = observer.sample(now_ns());
  const auto* disk = device_row(sample, loop->name(), "read");
  const auto* partition = device_row(sample, loop->name() + "p1", "read");
  REQUIRE((disk && partition));
  CHECK(disk->count >= 15);
  CHECK(partition->count >= 15);
  CHECK(latency_of(*disk, "d2c"));
  CHECK(partition->latencies.empty());
}

TEST_CASE("a started observer begins anew without loading again") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  BpfObserver observer;
  const auto stack = identify(loop->node());
  observer.start(stack, now_ns());
  TimedFile file(loop->node());
  for (int i = 0; i < 15; ++i) REQUIRE(file.read(4096, i * 4096));
  observer.start(stack, now_ns());
  for (int i = 0; i < 4; ++i) REQUIRE(file.read(4096, i * 4096));
  const auto sample = observer.sample(now_ns());
  REQUIRE(device_row(sample, loop->name(), "read"));
  CHECK(device_row(sample, loop->name(), "read")->count == 4);
}

TEST_CASE("the best observer is chosen, and why better ones are not had is told") {
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const auto stack = identify(loop->node());
  const auto best = start_best_observer(stack, now_ns());
  REQUIRE(best.observer);
  if (probe_obstacle().empty()) {
    CHECK(best.name == "bpf");
    CHECK(best.missed.empty());
  }
  const pid_t child = fork();
  if (child == 0) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    syscall(SYS_capset, &header, none);
    const auto lesser = start_best_observer(stack, now_ns());
    const bool told = lesser.missed.size() == 2 && lesser.missed[0].name == "bpf" &&
                      lesser.missed[0].why.find("CAP_BPF") != std::string::npos &&
                      lesser.missed[1].name == "trace";
    const auto sample = lesser.observer->sample(now_ns());
    _exit(lesser.name == "stat" && told && !sample.rows.empty() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
