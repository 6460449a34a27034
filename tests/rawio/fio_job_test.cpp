// fio's job files: what is read, what is refused, and that fio takes what is written.
#include <fstream>

#include "rawio/workload/fio_job.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "tests/catch.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"

using namespace plimsoll;

namespace {

FioJobs parse(const std::string& text) {
  return parse_fio_jobs(text, "a.fio", "/mnt/default", 7);
}

std::string fio_refusal(const std::string& text) {
  try {
    parse(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kTypical = R"(
; a comment
[global]
ioengine=libaio
direct=1
runtime=60
time_based
ramp_time=5s
group_reporting=1
size=4g
filename=/dev/sdx

[pages]
rw=randrw
rwmixread=70
bssplit=8k/90:64k/10
iodepth=16
numjobs=4
random_distribution=zipf:1.2

[log]
rw=write
bs=8k
fdatasync=1
offset=4g
size=1g

[later]
stonewall
rw=randread
bs=4k
rate_iops=500
rate_process=poisson
numjobs=2
filename=/mnt/data\:1/file
)";

}  // namespace

TEST_CASE("a fio job file gives the same workload") {
  const auto jobs = parse(kTypical);
  REQUIRE(jobs.groups.size() == 2);
  REQUIRE(jobs.targets.size() == 2);
  CHECK(jobs.targets[0].path == "/dev/sdx");
  CHECK(jobs.targets[0].file_size_bytes == 5ull << 30);
  CHECK(jobs.targets[0].changes);
  CHECK(jobs.targets[1].path == "/mnt/data:1/file");
  CHECK_FALSE(jobs.targets[1].changes);

  const auto& group = jobs.groups[0];
  CHECK(group.engine == "libaio");
  CHECK(group.runtime_ns == 60 * kSecond_ns);
  CHECK(group.warm_up_ns == 5 * kSecond_ns);
  CHECK(group.bytes == 0);
  REQUIRE(group.streams.size() == 2);
  const auto& pages = group.streams[0];
  CHECK(pages.name == "pages");
  CHECK(pages.read_percent == 70);
  REQUIRE(pages.blocks.size() == 2);
  CHECK(pages.blocks[1].size_bytes == 65536);
  CHECK(pages.blocks[1].percent == 10);
  CHECK(pages.depth == 16);
  CHECK(pages.jobs == 4);
  CHECK(describe(pages.spread) == "zipf:1.2");
  const auto& log = group.streams[1];
  CHECK(log.pattern == AccessPattern::kSequential);
  CHECK(log.fdatasync_every == 1);
  CHECK(log.span_offset_bytes == 4ull << 30);
  CHECK(log.span_bytes == 1ull << 30);

  const auto& later = jobs.groups[1].streams.front();
  CHECK(later.arrivals == ArrivalKind::kPoisson);
  CHECK(later.rate_per_s == 1000);  // fio's is of each job
  CHECK(later.target == 1);
  CHECK(later.no_repeat);  // fio's random map
}

TEST_CASE("fio's defaults are fio's: sequential 4k reads at depth 1, to the end of the size") {
  const auto jobs = parse("[x]\nsize=1m\nnumjobs=2\n");
  const auto& group = jobs.groups.front();
  CHECK(group.engine == "psync");
  CHECK(group.bytes == 2 << 20);
  CHECK(group.runtime_ns == 0);
  const auto& stream = group.streams.front();
  CHECK(stream.pattern == AccessPattern::kSequential);
  CHECK(stream.read_percent == 100);
  CHECK(stream.depth == 1);
  CHECK(stream.largest_block_bytes() == 4096);
  CHECK(jobs.targets.front().path == "/mnt/default");
}

TEST_CASE("jobs without a file have one each, those with the same name share it") {
  CHECK(parse("[global]\nsize=1m\n[a]\n[b]\n").targets.size() == 2);
  CHECK(parse("[global]\nsize=1m\nfilename=f\ndirectory=/d\n[a]\n[b]\n").targets.size() == 1);
  CHECK(parse("[global]\nsize=1m\nfilename=f\ndirectory=/d\n[a]\n").targets[0].path == "/d/f");
}

TEST_CASE("a rate in bytes becomes one in requests, thinktime is in microseconds") {
  const auto jobs =
      parse("[a]\nsize=1m\nrate=4m\nbs=16k\n[b]\nsize=1m\nthinktime=500\nthinktime_blocks=4\n");
  CHECK(jobs.groups[0].streams[0].rate_per_s == 256);
  CHECK(jobs.groups[0].streams[1].think_ns == 500'000);
  CHECK(jobs.groups[0].streams[1].think_every == 4);
}

TEST_CASE("what isn't honoured is refused by name and line") {
  CHECK_THAT(fio_refusal("[a]\nsize=1m\nzonemode=zbd\n"), ContainsSubstring("a.fio:3"));
  CHECK_THAT(fio_refusal("[a]\nsize=1m\nzonemode=zbd\n"), ContainsSubstring("zonemode"));
  for (const auto& [line, words] :
       std::vector<std::pair<std::string, std::string>>{{"rw=randmix", "randrw"},
                                                        {"ioengine=mmap", "io_uring"},
                                                        {"direct=0", "direct"},
                                                        {"buffered=1", "direct"},
                                                        {"size=50%", "percent"},
                                                        {"bs=4k,8k", "one value"},
                                                        {"iodepth=many", "many"},
                                                        {"iodepth=1.5", "whole number"},
                                                        {"runtime=soon", "soon"},
                                                        {"random_distribution=zipf:0", "theta"},
                                                        {"rate_process=bursts", "poisson"},
                                                        {"sync=sync", "dsync"},
                                                        {"filename=/a:/b", "colon"}}) {
    INFO(line);
    CHECK_THAT(fio_refusal("[a]\nsize=1m\n" + line + "\n"), ContainsSubstring(words));
    CHECK_THAT(fio_refusal("[a]\nsize=1m\n" + line + "\n"), ContainsSubstring("a.fio:"));
  }
  CHECK_THAT(fio_refusal("rw=read\n"), ContainsSubstring("[section]"));
  CHECK_THAT(fio_refusal("# nothing\n"), ContainsSubstring("no job"));
  CHECK_THAT(fio_refusal("[a\nrw=read\n"), ContainsSubstring("a.fio:1"));
  CHECK_THAT(fio_refusal("[a]\nrw=read\n"), ContainsSubstring("no end"));
}

TEST_CASE("jobs that can't run side by side here are refused, naming what differs") {
  CHECK_THAT(fio_refusal("[a]\nsize=1m\n[b]\nsize=1m\nioengine=libaio\n"),
             ContainsSubstring("ioengine"));
  CHECK_THAT(fio_refusal("[a]\nruntime=5\n[b]\nruntime=6\n"), ContainsSubstring("runtime"));
  CHECK_THAT(fio_refusal("[a]\nsize=1m\n[b]\nsize=2m\n"), ContainsSubstring("stonewall"));
  CHECK(fio_refusal("[a]\nsize=1m\n[b]\nstonewall\nsize=2m\nioengine=libaio\n").empty());
}

TEST_CASE("a workload written as a fio job and read again is the same") {
  for (const auto& group : parse(kTypical).groups) {
    auto workload = group;
    for (auto& stream : workload.streams) stream.content.compress_percent = 40;
    workload.on_error = OnError::kCount;
    const auto text = to_fio_job(to_json(workload), {{"/dev/sdx"}, {"/mnt/data:1/file"}});
    INFO(text);
    const auto again = parse(text);
    REQUIRE(again.groups.size() == 1);
    auto before = to_json(workload);
    auto after = to_json(again.groups.front());
    // Targets are numbered in the order in which jobs name them.
    for (auto& stream : before["streams"]) stream["target"] = 0;
    for (auto& stream : after["streams"]) stream["target"] = 0;
    CHECK(after.dump() == before.dump());
  }
}

TEST_CASE("fio takes the jobs that are written") {
  if (!lab::has_program("fio")) return lab::skip("no fio here");
  const lab::TempDir dir;
  const auto jobs = parse(kTypical);
  std::string text;
  for (const auto& group : jobs.groups) {
    text += to_fio_job(to_json(group), {{"/dev/null"}, {"/mnt/data:1/file"}}) + "\n";
  }
  const auto path = (dir.path() / "job.fio").string();
  std::ofstream(path) << text;
  const auto result = lab::run_process({"fio", "--parse-only", path});
  INFO(text << result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
}

TEST_CASE("every option that is read is one of fio's") {
  if (!lab::has_program("fio")) return lab::skip("no fio here");
  const auto help = lab::run_process({"fio", "--cmdhelp=all"}).out;
  for (const auto& name : fio_option_names()) {
    INFO(name);
    const bool known = help.find(name + " ") != std::string::npos ||
                       lab::run_process({"fio", "--cmdhelp=" + name}).exit_code == 0;
    CHECK(known);
  }
}
