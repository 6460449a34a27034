// Commit latency, on a drive whose flush takes a known time, and what can't be true of it.
#include <cmath>

#include "rawio/suites/commit.h"
#include "rawio/suites/plausibility.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

struct CommitLab {
  lab::DeviceDir results;
  Record record = Record::create(results.path() / "run", commit_run());
  RawTarget target = RawTarget::open(log_file());

  static RunSpec commit_run() {
    RunSpec spec;
    spec.command = "commit";
    return spec;
  }
  static TargetOptions log_file() {
    TargetOptions options;
    options.path = fs::current_path().string();
    options.file_size_bytes = 8 << 20;
    options.writes = true;
    return options;
  }
};

RawTarget open_to_erase(const std::string& node) {
  TargetOptions options;
  options.path = node;
  options.writes = true;
  options.erase.erase = true;
  options.erase.results_dir = "/dev/shm";
  return RawTarget::open(options);
}

CommitPlan short_plan() {
  CommitPlan plan;
  plan.runtime_ns = kSecond_ns / 5;
  plan.interval_ns = kSecond_ns / 20;
  return plan;
}

BlockDevice flash(double gt_s, int width) {
  BlockDevice drive;
  drive.node = "/dev/nvme0n1";
  drive.transport = "nvme";
  drive.rotational = false;
  drive.write_cache = "write back";
  drive.pcie.speed_gt_s = gt_s;
  drive.pcie.width = width;
  return drive;
}

}  // namespace

TEST_CASE("each method commits, alone and grouped, and every commit is in the record") {
  CommitLab lab;
  lab.target.fill(1, {}, {});
  for (const auto& row : commit_methods()) {
    for (const bool grouped : {false, true}) {
      const CommitCell cell{row.method, 4, grouped};
      INFO(describe(cell));
      const auto result = run_commit(short_plan(), cell, lab.target, lab.record);
      CHECK(result.error_code == 0);
      const auto commits = result.totals.at("commit").count();
      const auto writes = result.totals.at("write").count();
      CHECK(commits > 0);
      CHECK(lab.record.total(result.part, "raw", "commit").count == commits);
      CHECK(result.totals.at("commit").bytes == commits * 8192);
      // What was under way at the end of the warm-up or the run is on one side only.
      CHECK(double(result.totals.at("write").bytes) == Approx(commits * 8192.0).margin(8 * 8192));
      const bool flushes = row.name == "fsync" || row.name == "fdatasync";
      CHECK(result.totals.count("flush") == std::size_t(flushes));
      if (flushes) CHECK(result.totals.at("flush").count() == writes);
      if (!grouped) CHECK(commits == writes);
      if (grouped) CHECK(commits >= writes);
    }
  }
}

TEST_CASE("grouped committers share the flush of a slow drive, alone each waits for its own",
          "[slow]") {
  lab::NbdkitOptions nbdkit;
  nbdkit.filters = {"delay"};
  nbdkit.parameters = {"delay-write=5ms"};
  const auto device = lab::make<lab::NbdkitDevice>(nbdkit);
  if (!device) return;
  const lab::DeviceDir results;
  auto record = Record::create(results.path() / "run", CommitLab::commit_run());
  auto target = open_to_erase(device->node());
  auto plan = short_plan();
  plan.runtime_ns = kSecond_ns;
  const auto one = run_commit(plan, {CommitMethod::kFdatasync, 1, false}, target, record);
  const auto group = run_commit(plan, {CommitMethod::kFdatasync, 16, true}, target, record);
  const double single = double(one.totals.at("commit").count()) / one.measured_s;
  const double grouped = double(group.totals.at("commit").count()) / group.measured_s;
  INFO("one committer " << single << "/s, sixteen grouped " << grouped << "/s");
  CHECK(one.totals.at("commit").service.percentile(50) > 5'000'000);
  CHECK(single < 200);
  // While one group is written the other committers queue: about 15 records a write.
  CHECK(grouped > 6 * single);
  CHECK(group.part.facts.at("commits_per_write").get<double>() > 6);
}

TEST_CASE("a drive that fails ends the cell with its errno and offset", "[slow]") {
  lab::NbdkitOptions nbdkit;
  nbdkit.filters = {"error"};
  nbdkit.parameters = {"error-pwrite-rate=20%"};
  const auto device = lab::make<lab::NbdkitDevice>(nbdkit);
  if (!device) return;
  const lab::DeviceDir results;
  auto record = Record::create(results.path() / "run", CommitLab::commit_run());
  auto target = open_to_erase(device->node());
  auto plan = short_plan();
  plan.runtime_ns = 20 * kSecond_ns;
  for (const bool grouped : {false, true}) {
    const auto result = run_commit(plan, {CommitMethod::kWriteDsync, 8, grouped}, target, record);
    CHECK(result.error_code == EIO);
    CHECK(result.measured_s < 10);
    CHECK(result.totals.at("commit").errors >= 1);
    CHECK(result.failed_offset % 8192 == 0);
  }
}

TEST_CASE("a commit plan that can't run is refused before any I/O") {
  CommitPlan plan;
  plan.cells = {{CommitMethod::kFsync, 64, true}};
  const TargetShape drive{"/dev/sdx", 100 * kMiB, 4096, true};
  CHECK_NOTHROW(check_commit(plan, drive));
  plan.record_bytes = 512;
  CHECK_THROWS_WITH(check_commit(plan, drive), ContainsSubstring("4096-byte sectors"));
  plan.record_bytes = 8192;
  plan.span_bytes = 512 * 1024;
  CHECK_THROWS_WITH(check_commit(plan, drive), ContainsSubstring("--size"));
  plan.span_bytes = 101 * kMiB;
  CHECK_THROWS_WITH(check_commit(plan, drive), ContainsSubstring("beyond"));
  plan = {};
  plan.cells = {{CommitMethod::kFsync, 0, true}};
  CHECK_THROWS_WITH(check_commit(plan, drive), ContainsSubstring("1 to 1024"));
}

TEST_CASE("cells are all combinations, the methods side by side") {
  const auto cells =
      commit_cells({CommitMethod::kFsync, CommitMethod::kOpenDsync}, {1, 2, 4}, {false, true});
  REQUIRE(cells.size() == 12);
  CHECK(describe(cells[0]) == "fsync x1");
  CHECK(describe(cells[1]) == "O_DSYNC x1");
  CHECK(describe(cells[11]) == "O_DSYNC x4 grouped");
}

TEST_CASE("a flush faster than the medium or the link is called out, others are not") {
  // 8 KiB over PCIe 3 x4: 1 us for the command, 2.08 us for the data.
  CHECK(*link_time_ns(flash(8, 4), 8192) == Approx(3080).margin(10));
  CHECK(judge_commit(flash(8, 4), 8192, 2'500).lie);
  CHECK_THAT(judge_commit(flash(8, 4), 8192, 2'500).text, ContainsSubstring("link"));
  const auto cached = judge_commit(flash(8, 4), 8192, 20'000);
  CHECK(cached.doubtful);
  CHECK_FALSE(cached.lie);
  CHECK_FALSE(judge_commit(flash(8, 4), 8192, 300'000).doubtful);
  auto protected_cache = flash(8, 4);
  protected_cache.write_cache = "write through";
  CHECK_FALSE(judge_commit(protected_cache, 8192, 20'000).doubtful);

  BlockDevice disk;
  disk.node = "/dev/sda";
  disk.transport = "sata";
  disk.rotational = true;
  disk.write_cache = "write back";
  CHECK(judge_commit(disk, 8192, 200'000).lie);
  CHECK_FALSE(judge_commit(disk, 8192, 8'000'000).doubtful);
  CHECK(*link_time_ns(disk, 6000) == 10'000);

  disk.transport = "virtio";
  CHECK_FALSE(judge_commit(disk, 8192, 200'000).doubtful);
  CHECK_THAT(judge_commit(disk, 8192, 200'000).text, ContainsSubstring("virtual"));
  BlockDevice memory = flash(8, 4);
  memory.kind = LevelKind::kMemory;
  CHECK_THAT(judge_commit(memory, 8192, 1'000).text, ContainsSubstring("nothing is known"));
}
