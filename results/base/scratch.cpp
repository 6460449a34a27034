#include "results/base/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "results/base/error.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = ".plimsoll-scratch";
constexpr std::size_t kRandomLetters = 6;  // of mkdtemp

[[noreturn]] void fail(const std::string& what, const fs::path& dir, int error) {
  const char* mend = error == ENOSPC || error == EDQUOT ? "free some space there"
                     : error == EINVAL ? "choose a file system that has direct I/O (ext4, XFS)"
                                       : "choose a folder that exists and may be written to";
  throw BrokenError(
      fmt::format("{} in {}: {}; {}", what, dir.string(), std::strerror(error), mend));
}

bool has_no_tmpfile(int error) {
  return error == EOPNOTSUPP || error == EISDIR;
}

// "/mnt/a b" stands in mountinfo as "/mnt/a\040b".
std::string unescaped(const std::string& field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size()) {
      text.push_back(static_cast<char>(std::stoi(field.substr(i + 1, 3), nullptr, 8)));
      i += 3;
    } else {
      text.push_back(field[i]);
    }
  }
  return text;
}

bool has_mount_inside(const fs::path& dir) {
  std::error_code unknown;
  const std::string below = fs::canonical(dir, unknown).string() + "/";
  if (unknown) return true;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, mount_point;
    fields >> id >> parent >> device >> root >> mount_point;
    if (unescaped(mount_point).compare(0, below.size(), below) == 0) return true;
  }
  return false;
}

bool is_named(const fs::path& dir, const std::string& name) {
  const std::string base = dir.filename().string();
  const std::string prefix = "plimsoll-" + (name.empty() ? "" : name + "-");
  if (base.compare(0, prefix.size(), prefix) != 0) return false;
  return name.empty() || base.size() == prefix.size() + kRandomLetters;
}

bool is_own_folder(const fs::path& dir) {
  struct stat status {};
  return lstat(dir.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

bool has_name(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

// The lock of `dir`, taken; -1 when there is none, another process holds it, or it was removed
// after we opened it.
int take_lock(const fs::path& dir) {
  const int fd = open((dir / kLockName).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd)) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

// The lock goes last, so that a removal that is cut can be taken up again.
void remove_locked(const fs::path& dir) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(dir, ignored)) {
    if (entry.path().filename() != kLockName) fs::remove_all(entry.path(), ignored);
  }
  if (rmdir(dir.c_str()) == 0) return;
  for (const auto& entry : fs::directory_iterator(dir, ignored)) {
    if (entry.path().filename() != kLockName) return;
  }
  fs::remove_all(dir, ignored);
}

// False when another process that looks for abandoned folders came between our making the lock file
// and our locking it, and has removed the folder.
bool lock_new(const fs::path& dir, int& fd) {
  fd = open((dir / kLockName).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  if (flock(fd, LOCK_EX) == 0 && has_name(fd)) return true;
  close(fd);
  fd = -1;
  errno = ENOENT;
  return false;
}

}  // namespace

int open_unnamed_file(const fs::path& dir, int flags) {
  const int open_flags = O_RDWR | O_CLOEXEC | flags;
  int fd = open(dir.c_str(), O_TMPFILE | open_flags, 0600);
  if (fd < 0 && has_no_tmpfile(errno)) {
    std::string path = (dir / "plimsoll-XXXXXX").string();
    fd = mkostemp(path.data(), O_CLOEXEC | flags);
    if (fd >= 0) unlink(path.c_str());
  }
  if (fd < 0) fail("can't make a file", dir, errno);
  return fd;
}

ScratchDir::ScratchDir(const fs::path& dir, const std::string& name) {
  remove_abandoned(dir, name);
  for (;;) {
    std::string path = (dir / ("plimsoll-" + name + "-XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr) fail("can't make a folder", dir, errno);
    path_ = path;
    if (lock_new(path_, lock_fd_)) return;
    const int error = errno;
    rmdir(path.c_str());
    if (error != ENOENT) fail("can't make a lock file", dir, error);
  }
}

ScratchDir::~ScratchDir() {
  if (!keep_) remove_locked(path_);
  close(lock_fd_);
}

void ScratchDir::keep() {
  keep_ = true;
  std::error_code ignored;
  fs::remove(path_ / kLockName, ignored);
}

std::vector<fs::path> ScratchDir::abandoned(const fs::path& dir, const std::string& name) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(dir, ignored)) {
    if (!is_named(entry.path(), name) || !is_own_folder(entry.path())) continue;
    const int fd = take_lock(entry.path());
    if (fd < 0) continue;
    if (!has_mount_inside(entry.path())) found.push_back(entry.path());
    close(fd);
  }
  std::sort(found.begin(), found.end());
  return found;
}

void ScratchDir::remove_abandoned(const fs::path& dir, const std::string& name) {
  for (const fs::path& path : abandoned(dir, name)) {
    const int fd = take_lock(path);
    if (fd < 0) continue;
    remove_locked(path);
    close(fd);
  }
}

}  // namespace plimsoll
