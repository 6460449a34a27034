// What was written is looked for, and each kind of corruption is told apart.
#include <cstring>

#include "rawio/workload/job_threads.h"
#include "rawio/workload/run_raw.h"
#include "rawio/workload/verification.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"
#include "tests/rawio/engine_test_file.h"

using namespace plimsoll;
using plimsoll::test::DirectFile;
using plimsoll::test::Pages;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kFile_bytes = 1 << 20;

IoWorkload verified_writes(const std::string& engine) {
  IoWorkload workload;
  workload.engine = engine;
  workload.bytes = 4 * kFile_bytes;
  auto& stream = workload.streams.front();
  stream.read_percent = 0;
  stream.depth = engine == "psync" ? 1 : 16;
  stream.verify = true;
  return workload;
}

// A job that has written its file about four times over, at random.
struct Written {
  DirectFile file{kFile_bytes};
  IoWorkload workload = verified_writes("libaio");
  std::unique_ptr<JobThreads> threads;

  Written() {
    const auto& stream = workload.streams.front();
    std::vector<std::unique_ptr<IoJob>> jobs;
    jobs.push_back(std::make_unique<IoJob>(workload, stream, piece_of(stream, 0, kFile_bytes),
                                           JobSeat{0, 1, 0, 99}, 1));
    threads = std::make_unique<JobThreads>(std::move(jobs), std::vector<int>{file.fd()});
    threads->open();
    const std::int64_t now_ns = SystemClock::instance().now_ns();
    threads->start({now_ns, now_ns, INT64_MAX, workload.bytes});
    while (!threads->wait_until(now_ns + 60 * kSecond_ns, {})) {
    }
  }
  Verification look() { return verify_written(log(), file.fd(), 0, {}, {}); }
  const WrittenLog& log() { return *threads->jobs().front()->written(); }
  // A unit that was written at least twice.
  std::uint64_t rewritten(std::uint64_t from = 0) {
    while (log().generation(from) < 2) ++from;
    return from;
  }
  void read(Pages& page, std::uint64_t unit) {
    REQUIRE(::pread(file.fd(), page.at(0), 4096, static_cast<off_t>(unit * 4096)) == 4096);
  }
  void write(Pages& page, std::uint64_t unit) {
    REQUIRE(::pwrite(file.fd(), page.at(0), 4096, static_cast<off_t>(unit * 4096)) == 4096);
  }
};

}  // namespace

TEST_CASE("every kind of corruption is found, and the first block is named") {
  Written written;
  const auto whole = written.look();
  CHECK(whole.corrupt == 0);
  CHECK(whole.units > 200);
  CHECK(whole.bytes == whole.units * 4096);
  CHECK_FALSE(whole.first);

  const auto unit = written.rewritten();
  const auto other = written.rewritten(unit + 1);
  Pages original(4096);
  Pages page(4096);
  written.read(original, unit);
  const auto spoil = [&](Pages& with) {
    written.write(with, unit);
    const auto found = written.look();
    written.write(original, unit);
    CHECK(found.corrupt == 1);
    REQUIRE(found.first);
    CHECK(found.first->offset == unit * 4096);
    return *found.first;
  };

  CHECK(spoil(page).kind == CorruptionKind::kForeign);
  written.read(page, other);
  CHECK(spoil(page).kind == CorruptionKind::kMisplaced);
  written.read(page, unit);
  page.at(0)[4000] ^= std::byte{1};
  CHECK(spoil(page).kind == CorruptionKind::kDamaged);

  // An earlier write of the same place, whole in itself.
  written.read(page, unit);
  UnitStamp stamp;
  std::memcpy(&stamp, page.at(0), sizeof(stamp));
  CHECK(stamp.generation == written.log().generation(unit));
  --stamp.generation;
  std::memcpy(page.at(0), &stamp, sizeof(stamp));
  stamp.checksum = unit_checksum(page.at(0), 4096);
  std::memcpy(page.at(0), &stamp, sizeof(stamp));
  const auto stale = spoil(page);
  CHECK(stale.kind == CorruptionKind::kStale);
  CHECK_THAT(describe(stale), ContainsSubstring("lost write"));
  CHECK_THAT(describe(stale), ContainsSubstring(std::to_string(unit * 4096)));
  CHECK(written.look().corrupt == 0);
}

TEST_CASE("data of an earlier run isn't taken for this one's") {
  Written written;
  const WrittenLog& log = written.log();
  Pages page(4096);
  const auto unit = written.rewritten();
  written.read(page, unit);
  UnitStamp stamp;
  std::memcpy(&stamp, page.at(0), sizeof(stamp));
  CHECK(stamp.run == log.run());
  stamp.run = 98;
  std::memcpy(page.at(0), &stamp, sizeof(stamp));
  written.write(page, unit);
  const auto found = written.look();
  REQUIRE(found.first);
  CHECK(found.first->kind == CorruptionKind::kForeign);
}

TEST_CASE("blocks that can't be read are corrupt, each alone") {
  Written written;
  REQUIRE(::ftruncate(written.file.fd(), kFile_bytes - 8192) == 0);
  const auto found = written.look();
  CHECK(found.corrupt <= 2);
  REQUIRE(found.first);
  CHECK(found.first->kind == CorruptionKind::kUnreadable);
  CHECK(found.first->found == ENODATA);
}

TEST_CASE("no two writes to one place are under way together, and failed ones are not looked for") {
  WrittenLog log({8192, 16 * 4096}, 4096, 5);
  IoRequest request{};
  request.operation = IoOperation::kWrite;
  request.offset = 8192;
  request.length = 8192;
  CHECK(log.begin(request));
  request.offset = 8192 + 4096;
  CHECK_FALSE(log.begin(request));
  request.offset = 8192 + 8192;
  CHECK(log.begin(request));
  log.end(IoOperation::kWrite, 8192, 8192, true);
  CHECK(log.generation(0) == 1);
  CHECK(log.generation(1) == 1);
  CHECK(log.generation(2) == 0);
  log.end(IoOperation::kWrite, 8192 + 8192, 8192, false);
  CHECK(log.generation(2) == 0);
  request.offset = 8192 + 8192;
  request.length = 4096;
  CHECK(log.begin(request));
  log.end(IoOperation::kWrite, request.offset, 4096, true);
  CHECK(log.generation(2) == 2);
  CHECK(log.generation(3) == 0);
  request.operation = IoOperation::kTrim;
  CHECK(log.begin(request));
  log.end(IoOperation::kTrim, request.offset, 4096, true);
  CHECK(log.generation(2) == 0);
}

TEST_CASE("a verified run passes on every engine, with mixes, sizes, flushes and several jobs") {
  const lab::DeviceDir results;
  RunSpec spec;
  spec.command = "raw";
  auto record = Record::create(results.path() / "run", spec);
  TargetOptions options;
  options.path = fs::current_path().string();
  options.file_size_bytes = 4 << 20;
  options.writes = true;
  auto target = RawTarget::open(options);
  target.fill(1, {}, {});
  RawTarget* const targets[] = {&target};
  for (const auto& kind : engine_kinds()) {
    if (kind.name == "null") continue;
    INFO("engine " << kind.name);
    auto workload = verified_writes(std::string(kind.name));
    auto& stream = workload.streams.front();
    stream.blocks = {{4096, 60}, {12288, 40}};
    stream.read_percent = 30;
    stream.trim_percent = 5;
    stream.fdatasync_every = 20;
    stream.jobs = 3;
    stream.content.compress_percent = 50;
    const auto result = run_raw(workload, targets, record);
    REQUIRE(result.verification);
    CHECK(result.verification->units > 100);
    CHECK(result.verification->corrupt == 0);
    CHECK(result.part.facts.at("verified").at("corrupt") == 0);
  }
  CHECK(record.verdict().word == "pass");
}

TEST_CASE("the null engine writes nothing, and verification says so") {
  const lab::DeviceDir results;
  RunSpec spec;
  spec.command = "raw";
  auto record = Record::create(results.path() / "run", spec);
  TargetOptions options;
  options.path = fs::current_path().string();
  options.file_size_bytes = kFile_bytes;
  options.writes = true;
  auto target = RawTarget::open(options);
  target.fill(1, {}, {});
  RawTarget* const targets[] = {&target};
  const auto result = run_raw(verified_writes("null"), targets, record);
  REQUIRE(result.verification);
  CHECK(result.verification->corrupt == result.verification->units);
  CHECK(record.verdict().word == "fail");
  CHECK_THAT(record.verdict().sentence, ContainsSubstring("offset"));
  REQUIRE(record.checks().size() == 1);
  CHECK_FALSE(record.checks().front().holds);
}
