// Threads stay where they are told.
#include <sched.h>

#include <fstream>
#include <thread>

#include "rawio/workload/cpus.h"
#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/lab/temp_dir.h"
#include "tests/rawio/raw_lab.h"

using namespace plimsoll;
using namespace plimsoll::test;

TEST_CASE("lists of processors are read as the kernel writes them") {
  CHECK(parse_cpu_list("0") == std::vector<int>{0});
  CHECK(parse_cpu_list("3,0-2,1") == std::vector<int>{0, 1, 2, 3});
  for (const char* text : {"", "a", "1-", "3-1", "-1", "0,", "99999"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_cpu_list(text), ContainsSubstring("0,2-5"));
  }
}

TEST_CASE("a thread stays on its processor, and one that isn't there is refused") {
  const auto allowed = allowed_cpus();
  REQUIRE_FALSE(allowed.empty());
  std::thread([&] {
    keep_thread_on({allowed.back()});
    CHECK(allowed_cpus() == std::vector<int>{allowed.back()});
    CHECK(::sched_getcpu() == allowed.back());
    CHECK_THROWS_WITH(keep_thread_on({8000}), ContainsSubstring("8000"));
  }).join();
}

TEST_CASE("processors of a node are those of sysfs, where there are nodes to choose from") {
  const lab::TempDir dir;
  const std::filesystem::path nodes = dir.path() / "devices/system/node";
  std::filesystem::create_directories(nodes / "node1");
  const auto allowed = allowed_cpus();
  std::ofstream(nodes / "online") << "0-1\n";
  std::ofstream(nodes / "node1/cpulist") << allowed.front() << ",8000\n";
  SystemRoots roots;
  roots.sys = dir.path();
  CHECK(cpus_of_node(1, roots) == std::vector<int>{allowed.front()});
  CHECK(cpus_of_node(-1, roots).empty());
  std::ofstream(nodes / "online") << "0\n";
  CHECK(cpus_of_node(0, roots).empty());
}

TEST_CASE("pinned jobs run, and their processors are in the record") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  for (const bool pinned : {false, true}) {
    auto workload = short_workload("libaio");
    workload.cpus = allowed_cpus();
    workload.pinned = pinned;
    workload.streams.front().jobs = 3;
    const auto result = lab.run(workload);
    CHECK(result.total_count > 0);
    CHECK(result.part.spec.at("cpus").size() == allowed_cpus().size());
  }
  auto workload = short_workload("libaio");
  workload.cpus = {8000};
  CHECK_THROWS_WITH(lab.run(workload), ContainsSubstring("8000"));
}

TEST_CASE("the kernel's thread submits where asked, and polling is done or said to be missing") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  auto workload = short_workload("io_uring");
  workload.kernel_thread = true;
  workload.streams.front().read_percent = 50;
  workload.streams.front().fdatasync_every = 16;
  const auto submitted = lab.run(workload);
  CHECK(submitted.total_count > 0);
  CHECK(submitted.errors == 0);

  workload = short_workload("io_uring");
  workload.polled = true;
  const auto polled = lab.run(workload);
  CHECK(polled.total_count > 0);
  CHECK(polled.errors == 0);
  for (const auto& warning : lab.record.warnings()) {
    CHECK(warning.id == "facility-missing");
    CHECK_THAT(warning.text, ContainsSubstring("polling"));
  }
  workload.streams.front().read_percent = 0;
  workload.streams.front().fsync_every = 1;
  CHECK_THROWS_WITH(lab.run(workload), ContainsSubstring("--polled"));
  workload.engine = "libaio";
  CHECK_THROWS_WITH(lab.run(workload), ContainsSubstring("io_uring"));
}

TEST_CASE("buffers beyond the locked-memory limit are not registered, and that is said") {
  RawLab lab;
  lab.target.fill(1, {}, {});
  auto workload = short_workload("io_uring");
  auto& stream = workload.streams.front();
  stream.depth = 64;
  stream.blocks = {{1 << 20, 100}};  // 64 MiB; root is bound by the limit only without CAP_IPC_LOCK
  const auto result = lab.run(workload);
  CHECK(result.total_count > 0);
  CHECK(result.errors == 0);
  for (const auto& warning : lab.record.warnings()) {
    CHECK_THAT(warning.text, ContainsSubstring("registered"));
  }
}
