#include "results/base/scratch.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/lab/process.h"
#include "tests/lab/skip.h"
#include "tests/lab/temp_dir.h"

using namespace plimsoll;
using plimsoll::lab::TempDir;
namespace fs = std::filesystem;

namespace {

std::size_t entries(const fs::path& dir) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}

// Does `work` in a child that is killed when it has done it but before anything is destructed.
void kill_after(const std::function<void()>& work) {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = lab::fork_child([&] {
    work();
    const bool told = write(ready[1], "!", 1) == 1;
    while (told) pause();
    return 1;
  });
  close(ready[1]);
  char mark = 0;
  CHECK(read(ready[0], &mark, 1) == 1);
  close(ready[0]);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

void make_and_die(const fs::path& dir, const std::string& name) {
  kill_after([&] {
    auto* scratch = new ScratchDir(dir, name);  // never destructed: the child is killed
    lab::write_text(scratch->path() / "data", "x");
    fs::create_directory(scratch->path() / "deeper");
    lab::write_text(scratch->path() / "deeper" / "data", "x");
  });
}

}  // namespace

TEST_CASE("an unnamed file holds data and leaves nothing when its process is killed") {
  TempDir dir;
  kill_after([&] {
    const int fd = open_unnamed_file(dir.path(), 0);
    if (ftruncate(fd, 1 << 20) != 0) throw std::runtime_error("no space");
  });
  CHECK(entries(dir.path()) == 0);
  const int fd = open_unnamed_file(dir.path(), 0);
  CHECK(pwrite(fd, "abc", 3, 0) == 3);
  char text[3];
  CHECK(pread(fd, text, 3, 0) == 3);
  CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(entries(dir.path()) == 0);
  close(fd);
}

TEST_CASE("an unnamed file opens with direct I/O where the file system has it") {
  TempDir dir;
  const int fd = open_unnamed_file(dir.path(), O_DIRECT);
  CHECK((fcntl(fd, F_GETFL) & O_DIRECT) != 0);
  close(fd);
}

TEST_CASE("where no file or folder can be made the error names the place and the mend") {
  CHECK_THROWS_AS(open_unnamed_file("/nonexistent-folder", 0), BrokenError);
  CHECK_THROWS_WITH(
      open_unnamed_file("/nonexistent-folder", 0),
      ContainsSubstring("/nonexistent-folder") && ContainsSubstring("choose a folder"));
  CHECK_THROWS_AS(ScratchDir("/nonexistent-folder", "x"), BrokenError);
  CHECK_THROWS_AS(ScratchDir("/proc", "x"), BrokenError);
}

TEST_CASE("a scratch folder is removed with all it holds") {
  TempDir dir;
  fs::path path;
  {
    ScratchDir scratch(dir.path(), "oltp");
    path = scratch.path();
    CHECK(path.filename().string().rfind("plimsoll-oltp-", 0) == 0);
    CHECK(fs::is_directory(path));
    fs::create_directories(path / "a" / "b");
    lab::write_text(path / "a" / "b" / "data", "x");
  }
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("a kept scratch folder stays and is never taken for an abandoned one") {
  TempDir dir;
  fs::path path;
  {
    ScratchDir scratch(dir.path(), "oltp");
    path = scratch.path();
    lab::write_text(path / "data", "x");
    scratch.keep();
  }
  CHECK(ScratchDir::abandoned(dir.path()).empty());
  ScratchDir::remove_abandoned(dir.path());
  CHECK(lab::read_text(path / "data") == "x");
  CHECK(entries(path) == 1);
}

TEST_CASE("what a killed process left is found and removed") {
  TempDir dir;
  make_and_die(dir.path(), "oltp");
  REQUIRE(entries(dir.path()) == 1);
  const auto abandoned = ScratchDir::abandoned(dir.path());
  REQUIRE(abandoned.size() == 1);
  CHECK(fs::exists(abandoned[0] / "deeper" / "data"));
  ScratchDir::remove_abandoned(dir.path());
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("a new scratch folder removes only what killed runs of its name left") {
  TempDir dir;
  make_and_die(dir.path(), "oltp");
  make_and_die(dir.path(), "oltp-more");
  {
    ScratchDir scratch(dir.path(), "oltp");
    CHECK(entries(dir.path()) == 2);
    CHECK(ScratchDir::abandoned(dir.path()).size() == 1);
  }
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("a scratch folder in use is not removed, by this process or another") {
  TempDir dir;
  ScratchDir mine(dir.path(), "oltp");
  lab::write_text(mine.path() / "data", "x");
  ScratchDir second(dir.path(), "oltp");
  CHECK(ScratchDir::abandoned(dir.path()).empty());
  kill_after([&] { ScratchDir::remove_abandoned(dir.path()); });
  CHECK(lab::read_text(mine.path() / "data") == "x");
  CHECK(fs::exists(second.path()));
}

TEST_CASE("folders of others are not removed, whatever their name") {
  TempDir dir;
  const fs::path others = dir.path() / "plimsoll-oltp-AbCdEf";
  fs::create_directory(others);
  lab::write_text(others / "data", "x");
  lab::write_text(dir.path() / "plimsoll-oltp-file01", "x");
  fs::create_directory(dir.path() / "mine");
  lab::write_text(dir.path() / "mine" / ".plimsoll-scratch", "");
  fs::create_directory_symlink(dir.path() / "mine", dir.path() / "plimsoll-oltp-symlnk");
  ScratchDir::remove_abandoned(dir.path());
  CHECK(entries(dir.path()) == 4);
  CHECK(fs::exists(others / "data"));
  CHECK(fs::exists(dir.path() / "mine" / ".plimsoll-scratch"));
}

TEST_CASE("a link in an abandoned folder is removed and what it points to stays") {
  TempDir dir;
  TempDir elsewhere;
  lab::write_text(elsewhere.path() / "data", "x");
  kill_after([&] {
    auto* scratch = new ScratchDir(dir.path(), "oltp");
    fs::create_directory_symlink(elsewhere.path(), scratch->path() / "link");
  });
  ScratchDir::remove_abandoned(dir.path());
  CHECK(entries(dir.path()) == 0);
  CHECK(fs::exists(elsewhere.path() / "data"));
}

TEST_CASE("an abandoned folder with something mounted in it is left alone") {
  if (geteuid() != 0) return lab::skip("mounting takes root");
  TempDir dir;
  make_and_die(dir.path(), "oltp");
  const fs::path point = ScratchDir::abandoned(dir.path()).at(0) / "a folder";
  fs::create_directory(point);
  if (mount("none", point.c_str(), "tmpfs", 0, "size=64k") != 0) return lab::skip("no mount");
  lab::write_text(point / "data", "x");
  ScratchDir::remove_abandoned(dir.path());
  CHECK(lab::read_text(point / "data") == "x");
  CHECK(umount(point.c_str()) == 0);
  ScratchDir::remove_abandoned(dir.path());
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("many processes make and remove scratch folders of one name at once", "[slow]") {
  TempDir dir;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    children.push_back(lab::fork_child([&] {
      for (int round = 0; round < 100; ++round) {
        ScratchDir scratch(dir.path(), "oltp");
        lab::write_text(scratch.path() / "data", "x");
        if (lab::read_text(scratch.path() / "data") != "x") return 1;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(entries(dir.path()) == 0);
}
