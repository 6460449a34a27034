#include "cli/qualify_place.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "cli/writable.h"
#include "rawio/device/signatures.h"
#include "results/base/error.h"

extern char** environ;

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kWiped_bytes = 1 << 20;

std::string last_error() {
  return std::strerror(errno);
}

// mkfs.ext4 says what it does on standard output, which isn't ours to give away.
void make_ext4(const fs::path& device) {
  const std::string path = device.string();
  std::array<const char*, 7> argv = {"mkfs.ext4",   "-q",         "-F",   "-L",
                                     kQualifyLabel, path.c_str(), nullptr};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execvp(argv[0], const_cast<char**>(argv.data()));
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) {
    throw BrokenError("can't start mkfs.ext4: " + last_error());
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    throw RefusedError("mkfs.ext4 is missing: apt-get install e2fsprogs");
  }
  if (status != 0) {
    throw BrokenError(fmt::format("mkfs.ext4 failed on {}: see its words above", path));
  }
}

void wipe_ends(const Consent& consent) {
  const off_t size = ::lseek(consent.fd(), 0, SEEK_END);
  const std::vector<char> zeros(
      std::min<std::size_t>(kWiped_bytes, static_cast<std::size_t>(size)));
  const auto length = static_cast<off_t>(zeros.size());
  for (const off_t at : {off_t{0}, size - length}) {
    if (::pwrite(consent.fd(), zeros.data(), zeros.size(), at) != length) return;
  }
  ::fsync(consent.fd());
}

}  // namespace

QualifyPlace::QualifyPlace(const fs::path& target, const EraseRequest& request)
    : target_(target), request_(request), stack_(identify(target)) {
  is_device_ = fs::is_block_file(target);
  require_block_device(stack_);
  if (is_device_ && !request.erase) {
    throw RefusedError(fmt::format(
        "{} is a block device and qualify overwrites it; --erase allows that (or name a "
        "folder on a file system)",
        target.string()));
  }
  if (is_device_) {
    Consent::obtain(target, request_);
  } else if (!fs::is_directory(target)) {
    throw UsageError(
        fmt::format("{} is no folder; name the folder of the drive to qualify", target.string()));
  } else {
    require_writable(target);
    folder_ = target;
  }
}

const fs::path& QualifyPlace::prepare_folder(const fs::path& mount_point) {
  if (is_device_ && !mounted_) mount(mount_point);
  return folder_;
}

void QualifyPlace::mount(const fs::path& mount_point) {
  { const Consent consent = Consent::obtain(target_, request_); }
  make_ext4(target_);
  fs::create_directories(mount_point);
  // The threads that are started from here on are in the same name space as this one.
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount(target_.c_str(), mount_point.c_str(), "ext4", MS_NOATIME, nullptr) != 0) {
    throw RefusedError(
        fmt::format("can't mount {}: {}; mounting takes root", target_.string(), last_error()));
  }
  mounted_ = mount_point;
  folder_ = mount_point;
  stack_ = identify(mount_point);
}

// The named request stands for the ext4 that mount() made.
QualifyPlace::~QualifyPlace() {
  if (!mounted_) return;
  ::umount2(mounted_->c_str(), MNT_DETACH);
  std::error_code ignored;
  fs::remove(*mounted_, ignored);
  try {
    EraseRequest own = request_;
    own.named = erase_names(stack_).front();
    wipe_ends(Consent::obtain(target_, own));
  } catch (const Error&) {
    // The device has gone or is held by another: its file system stays, and the guard will say so.
  }
}

}  // namespace plimsoll::cli
