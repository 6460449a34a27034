#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rawio/workload/target.h"
#include "rawio/workload/written_extents.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"
#include "tests/lab/temp_dir.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

TargetOptions options_for(const fs::path& path, bool writes = false) {
  TargetOptions options;
  options.path = path.string();
  options.file_size_bytes = 4 * kMiB;
  options.writes = writes;
  return options;
}

struct Refused {
  ExitCode code = ExitCode::kDone;
  std::string text;
};

Refused refusal(const TargetOptions& options) {
  try {
    auto target = RawTarget::open(options);
    target.check_written(0, target.shape().size_bytes);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

std::size_t entries(const fs::path& dir) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}

void write_file(const fs::path& path, std::size_t bytes) {
  std::ofstream(path) << std::string(bytes, 'x');
}

}  // namespace

TEST_CASE("a file made in a folder is written in full and leaves nothing behind") {
  const lab::TempDir dir;
  {
    auto target = RawTarget::open(options_for(dir.path(), true));
    CHECK(target.kind() == TargetKind::kMadeFile);
    CHECK(target.direct());
    CHECK(unwritten_bytes(target.fd(), 0, 4 * kMiB) == 4 * kMiB);
    target.fill(1, {}, {});
    CHECK(unwritten_bytes(target.fd(), 0, 4 * kMiB) == 0);
    CHECK(target.shape().size_bytes == 4 * kMiB);
    CHECK(entries(dir.path()) == 0);
  }
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("a file is kept under its name when asked, colons and all") {
  const lab::TempDir dir;
  auto options = options_for(dir.path() / "a:b=c,d");
  options.keep = true;
  {
    auto target = RawTarget::open(options);
    target.fill(1, {}, {});
    target.keep_if_asked();
  }
  CHECK(fs::file_size(dir.path() / "a:b=c,d") == 4 * kMiB);
  CHECK(RawTarget::open(options).kind() == TargetKind::kExistingFile);
  CHECK_THAT(refusal([&] {
               auto folder = options_for(dir.path());
               folder.keep = true;
               return folder;
             }())
                 .text,
             ContainsSubstring("--keep needs"));
}

TEST_CASE("filling stops when asked and leaves nothing") {
  const lab::TempDir dir;
  std::stop_source source;
  source.request_stop();
  auto target = RawTarget::open(options_for(dir.path() / "new"));
  try {
    target.fill(1, source.get_token(), {});
    FAIL("the fill went on");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kInterrupted);
  }
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("a target that isn't there, or is something else, is wrong usage") {
  CHECK(refusal(options_for("/nowhere/at/all")).code == ExitCode::kUsage);
  CHECK(refusal(options_for("/dev/null")).code == ExitCode::kUsage);
}

TEST_CASE("memory is no drive: tmpfs is refused, and labelled where accepted") {
  const lab::DeviceDir dir("/dev/shm");
  auto options = options_for(dir.path());
  const auto refused = refusal(options);
  CHECK(refused.code == ExitCode::kRefused);
  CHECK_THAT(refused.text, ContainsSubstring("--accept no-direct-io"));
  options.accept_buffered = true;
  const auto target = RawTarget::open(options);
  CHECK_FALSE(target.direct());
  CHECK(target.warnings().size() == 2);
}

TEST_CASE("an existing file is the user's: written to only when he says so") {
  const lab::TempDir dir;
  const auto path = dir.path() / "precious";
  write_file(path, kMiB);
  auto options = options_for(path, true);
  CHECK(refusal(options).code == ExitCode::kRefused);
  CHECK_THAT(refusal(options).text, ContainsSubstring("--overwrite"));
  options.overwrite = true;
  CHECK(RawTarget::open(options).shape().writable);
  options = options_for(path);
  const auto target = RawTarget::open(options);
  CHECK_FALSE(target.shape().writable);
  CHECK(target.shape().size_bytes == kMiB);
  CHECK(fs::exists(path));
}

TEST_CASE("reads of holes and of reserved extents are refused: they never reach the drive") {
  const lab::TempDir dir;
  const auto sparse = dir.path() / "sparse";
  write_file(sparse, 4096);
  fs::resize_file(sparse, 4 * kMiB);
  const auto reserved = dir.path() / "reserved";
  const int file = ::open(reserved.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(::fallocate(file, 0, 0, 4 * kMiB) == 0);
  ::close(file);
  for (const auto& path : {sparse, reserved}) {
    INFO(path);
    auto options = options_for(path);
    const auto refused = refusal(options);
    CHECK(refused.code == ExitCode::kRefused);
    CHECK_THAT(refused.text, ContainsSubstring("--accept file-is-sparse"));
    options.accept_sparse = true;
    auto target = RawTarget::open(options);
    target.check_written(0, 4 * kMiB);
    REQUIRE(target.warnings().size() == 1);
    CHECK(target.warnings().front().id == "file-is-sparse");
  }
  write_file(dir.path() / "full", kMiB);
  CHECK(refusal(options_for(dir.path() / "full")).text.empty());
}

TEST_CASE("too little space is said before anything is written") {
  const lab::TempDir dir;
  auto options = options_for(dir.path());
  options.file_size_bytes = 1ull << 50;
  const auto refused = refusal(options);
  CHECK(refused.code == ExitCode::kRefused);
  CHECK_THAT(refused.text, ContainsSubstring("lower --size"));
  options.offset_bytes = 1ull << 49;
  CHECK_THAT(refusal(options).text, ContainsSubstring("lower --offset or --size"));
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("a mistyped device is no new file among the device nodes, whatever is accepted") {
  auto options = options_for("/dev/plimsoll-none", true);
  options.erase.erase = true;
  options.accept_buffered = true;
  options.keep = true;
  for (const char* path : {"/dev/plimsoll-none", "/dev/../dev/plimsoll-none", "/dev/disk/none"}) {
    options.path = path;
    INFO(path);
    CHECK(refusal(options).code == ExitCode::kUsage);
    CHECK_FALSE(fs::exists(path));
  }
  options.path = "/dev/plimsoll-none";
  CHECK_THAT(refusal(options).text, ContainsSubstring("no such device"));
  options.keep = false;
  options.path = "/dev";
  CHECK_THAT(refusal(options).text, ContainsSubstring("holds devices"));
}

TEST_CASE("an offset that is no multiple of the sectors is named, not the file made for it") {
  const lab::TempDir dir;
  auto options = options_for(dir.path());
  options.offset_bytes = 1000;
  options.file_size_bytes += 1000;
  CHECK(refusal(options).code == ExitCode::kUsage);
  CHECK_THAT(refusal(options).text, ContainsSubstring("--offset 1000"));
}

TEST_CASE("a read-only file system is named as such") {
  const auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::Ext4Mount mount(loop->node(), "ro");
  const auto refused = refusal(options_for(mount.path()));
  CHECK(refused.code == ExitCode::kRefused);
  CHECK_THAT(refused.text, ContainsSubstring("read-only"));
}

TEST_CASE("a block device is read freely and written to with the guard's consent only") {
  const auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  CHECK(RawTarget::open(options_for(loop->node())).kind() == TargetKind::kBlockDevice);
  auto options = options_for(loop->node(), true);
  CHECK(refusal(options).code == ExitCode::kRefused);
  options.erase.erase = true;
  options.erase.results_dir = "/dev/shm";
  {
    const auto target = RawTarget::open(options);
    CHECK(target.shape().writable);
    CHECK(target.shape().size_bytes == 64 * kMiB);
  }
  const lab::Ext4Mount mount(loop->node());
  CHECK(refusal(options).code == ExitCode::kRefused);
}

TEST_CASE("512-byte blocks on a drive of 4096-byte sectors are refused, not tried") {
  lab::LoopOptions loop_options;
  loop_options.sector_bytes = 4096;
  const auto loop = lab::make<lab::LoopDevice>(loop_options);
  if (!loop) return;
  const auto target = RawTarget::open(options_for(loop->node()));
  CHECK(target.shape().logical_block_bytes == 4096);
  IoWorkload workload;
  workload.runtime_ns = 1;
  workload.streams.front().blocks = {{512, 100}};
  CHECK_THROWS_AS(check_workload(workload, {target.shape()}), UsageError);
}
