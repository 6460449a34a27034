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

namespace {

double point_value(const ObserverSample& sample, const std::string& name) {
  for (const auto& point : sample.points) {
    if (point.name == name) return point.value;
  }
  return -1;
}

// A child that was there before the observer: told to, it reads and ends.
class OtherReader {
 public:
  OtherReader(const std::string& node, int times) {
    REQUIRE(pipe2(ends_, O_CLOEXEC) == 0);
    child_ = fork();
    if (child_ != 0) return;
    char go = 0;
    if (::read(ends_[0], &go, 1) != 1) _exit(1);
    TimedFile file(node, O_RDONLY);
    for (int i = 0; i < times; ++i) file.read(4096, i * 4096);
    _exit(0);
  }
  ~OtherReader() {
    close(ends_[0]);
    close(ends_[1]);
  }
  bool go() {
    int status = 1;
    return write(ends_[1], "g", 1) == 1 && waitpid(child_, &status, 0) == child_ && status == 0;
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t child_ = -1;
};

}  // namespace

TEST_CASE("the I/O of our processes is told apart from that of others") {
  if (!lab::probe_possible()) return;
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  lab::settled_disk(loop->name());
  for (int tries = 0; tries < 10; ++tries) {
    OtherReader other(loop->node(), 30);
    BpfObserver observer;
    observer.tell_apart({.ids = {getpid()}, .rows = true});
    observer.start(identify(loop->node()), now_ns());
    TimedFile file(loop->node());
    for (int i = 0; i < 20; ++i) REQUIRE(file.read(8192, i * 8192));
    REQUIRE(other.go());
    const auto sample = observer.sample(now_ns());
    if (hides_something(sample) && tries < 9) continue;
    CHECK(point_value(sample, "ours_ops") == 20);
    CHECK(point_value(sample, "ours_bytes") == 20 * 8192);
    CHECK(point_value(sample, "rest_ops") >= 30);  // the reader's partition scan may be with it
    const auto* all = device_row(sample, loop->name(), "read");
    const auto* ours = device_row(sample, loop->name() + " (ours)", "read");
    const auto* rest = device_row(sample, loop->name() + " (rest)", "read");
    REQUIRE((all && ours && rest));
    CHECK(ours->count == 20);
    CHECK(all->count == ours->count + rest->count);
    REQUIRE((latency_of(*all, "d2c") && latency_of(*ours, "d2c")));
    CHECK(latency_of(*ours, "d2c")->count() == 20);
    CHECK(latency_of(*all, "d2c")->count() == all->count);
    return;
  }
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
