#include "rawio/workload/target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "rawio/workload/written_extents.h"
#include "results/base/error.h"
#include "results/base/scratch.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

// Left free beside a file we make: file systems slow down and others fail when it gets tight.
constexpr std::uint64_t kSpaceMargin_bytes = 64ull << 20;

bool is_memory(const std::string& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

// /dev and what is in it, but for /dev/shm, which is there for files.
bool is_among_devices(const std::filesystem::path& dir) {
  std::error_code ignored;
  const std::string path = std::filesystem::weakly_canonical(dir, ignored).string() + "/";
  return path.starts_with("/dev/") && !path.starts_with("/dev/shm/");
}

void require_space(const std::filesystem::path& dir, std::uint64_t size_bytes,
                   std::uint64_t offset_bytes) {
  struct statvfs status {};
  if (::statvfs(dir.c_str(), &status) != 0) return;
  if ((status.f_flag & ST_RDONLY) != 0) {
    throw RefusedError(dir.string() + " is mounted read-only: remount it, or name another folder");
  }
  const std::uint64_t free_bytes = status.f_bavail * status.f_frsize;
  const std::uint64_t wanted = size_bytes + size_bytes / 50 + kSpaceMargin_bytes;
  if (free_bytes >= wanted) return;
  throw RefusedError(fmt::format("{} has {} free and the file of {} needs {}: lower {}",
                                 dir.string(), format_size(free_bytes), format_size(size_bytes),
                                 format_size(wanted),
                                 offset_bytes > 0 ? "--offset or --size" : "--size"));
}

// What offset and length of direct I/O must be multiples of, where the kernel says (6.1).
std::optional<std::uint32_t> direct_alignment(int file) {
  struct statx status {};
  if (::syscall(SYS_statx, file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) != 0) return {};
  if ((status.stx_mask & STATX_DIOALIGN) == 0 || status.stx_dio_offset_align == 0) return {};
  return status.stx_dio_offset_align;
}

}  // namespace

RawTarget RawTarget::open(const TargetOptions& options) {
  RawTarget target(options);
  target.shape_.name = options.path;
  struct stat status {};
  if (::stat(options.path.c_str(), &status) == 0) {
    if (S_ISBLK(status.st_mode)) {
      target.open_device();
    } else if (S_ISREG(status.st_mode)) {
      target.open_existing_file();
    } else if (S_ISDIR(status.st_mode)) {
      if (options.keep) throw UsageError("--keep needs a file's name: give one in " + options.path);
      target.make_file(options.path);
    } else {
      throw UsageError(options.path + " is neither a block device nor a file nor a folder");
    }
  } else {
    auto dir = std::filesystem::path(options.path).parent_path();
    if (dir.empty()) dir = ".";
    if (errno != ENOENT || !std::filesystem::is_directory(dir)) {
      throw UsageError(fmt::format("{}: {}: name a block device, a file or a folder", options.path,
                                   std::strerror(errno)));
    }
    target.make_file(dir);
  }
  target.find_alignment();
  return target;
}

RawTarget::RawTarget(RawTarget&& other) noexcept
    : options_(std::move(other.options_)),
      shape_(std::move(other.shape_)),
      kind_(other.kind_),
      direct_(other.direct_),
      fd_(std::exchange(other.fd_, -1)),
      durable_fd_(std::exchange(other.durable_fd_, -1)),
      consent_(std::move(other.consent_)),
      dir_(std::move(other.dir_)),
      warnings_(std::move(other.warnings_)) {}

RawTarget::~RawTarget() {
  if (fd_ >= 0) ::close(fd_);
  if (durable_fd_ >= 0) ::close(durable_fd_);
}

int RawTarget::durable_fd() {
  if (durable_fd_ >= 0) return durable_fd_;
  const auto link = fmt::format("/proc/self/fd/{}", fd_);
  const int direct = direct_ ? O_DIRECT : 0;
  durable_fd_ = ::open(link.c_str(), O_RDWR | O_DSYNC | O_CLOEXEC | direct);
  if (durable_fd_ < 0) {
    throw BrokenError(
        fmt::format("{} can't be opened with O_DSYNC: {}", shape_.name, std::strerror(errno)));
  }
  return durable_fd_;
}

// tmpfs takes O_DIRECT since Linux 6.6, and is memory all the same.
void RawTarget::refuse_memory() {
  if (kind_ == TargetKind::kBlockDevice) return;  // its node lies in /dev, which is memory
  if (!is_memory(dir_.empty() ? options_.path : dir_.string())) return;
  if (!options_.accept_buffered) {
    throw RefusedError(options_.path +
                           " lies in memory (tmpfs), there is no drive to measure: "
                           "name a folder on the drive",
                       "no-direct-io");
  }
  warnings_.push_back({"tmpfs", options_.path + " lies in memory: no drive was measured"});
}

void RawTarget::open_file(int flags) {
  refuse_memory();
  if (kind_ == TargetKind::kMadeFile) {
    fd_ = open_unnamed_file(dir_, 0);
  } else {
    fd_ = ::open(options_.path.c_str(), flags | O_CLOEXEC);
    if (fd_ < 0) {
      throw RefusedError(fmt::format("{} can't be opened{}: {}", options_.path,
                                     options_.writes ? " for writing" : "", std::strerror(errno)));
    }
  }
  if (warnings_.empty() && ::fcntl(fd_, F_SETFL, O_DIRECT) == 0) return;
  if (!options_.accept_buffered) {
    throw RefusedError(
        "the file system of " + options_.path + " has no direct I/O: name a folder on another",
        "no-direct-io");
  }
  direct_ = false;
  warnings_.push_back({"no-direct-io", options_.path + " was used through the page cache"});
}

void RawTarget::open_device() {
  kind_ = TargetKind::kBlockDevice;
  if (options_.writes) {
    consent_ = Consent::obtain(options_.path, options_.erase);
    fd_ = consent_->open_again(O_RDWR | O_DIRECT);
  } else {
    open_file(O_RDONLY);
  }
  shape_.writable = options_.writes;
  if (::ioctl(fd_, BLKGETSIZE64, &shape_.size_bytes) != 0 || shape_.size_bytes == 0) {
    throw UsageError(options_.path + " holds nothing: its size is 0");
  }
}

void RawTarget::open_existing_file() {
  kind_ = TargetKind::kExistingFile;
  if (options_.writes && !options_.overwrite) {
    throw RefusedError(options_.path +
                       " exists and would be overwritten: give --overwrite if its "
                       "contents may go, or a new name");
  }
  open_file(options_.writes ? O_RDWR : O_RDONLY);
  shape_.writable = options_.writes;
  shape_.size_bytes = std::filesystem::file_size(options_.path);
  if (shape_.size_bytes == 0) throw UsageError(options_.path + " is empty: remove it first");
}

void RawTarget::make_file(const std::filesystem::path& dir) {
  kind_ = TargetKind::kMadeFile;
  dir_ = dir;
  if (is_among_devices(dir)) {
    throw UsageError(options_.path + (dir == options_.path
                                          ? " holds devices, not files: name one of them"
                                          : ": no such device; `plimsoll devices` lists them"));
  }
  if (::access(dir.c_str(), W_OK) != 0 && errno == EACCES) {
    throw RefusedError(dir.string() + " can't be written by this user: name another folder");
  }
  require_space(dir, options_.file_size_bytes, options_.offset_bytes);
  open_file(0);
  shape_.size_bytes = options_.file_size_bytes;
  find_alignment();
  if (options_.offset_bytes % shape_.logical_block_bytes != 0) {
    throw UsageError(fmt::format("--offset {} is no multiple of the {}-byte sectors of {}",
                                 options_.offset_bytes, shape_.logical_block_bytes, dir.string()));
  }
  if (shape_.size_bytes % shape_.logical_block_bytes != 0) {
    throw UsageError(fmt::format("a file of {} bytes is no multiple of the {}-byte sectors of {}",
                                 shape_.size_bytes, shape_.logical_block_bytes, dir.string()));
  }
}

void RawTarget::find_alignment() {
  if (!direct_) {
    shape_.logical_block_bytes = 1;
  } else if (kind_ == TargetKind::kBlockDevice) {
    int sector_bytes = 512;
    ::ioctl(fd_, BLKSSZGET, &sector_bytes);
    shape_.logical_block_bytes = static_cast<std::uint32_t>(sector_bytes);
  } else {
    shape_.logical_block_bytes = direct_alignment(fd_).value_or(512);
  }
}

void RawTarget::check_written(std::uint64_t offset_bytes, std::uint64_t span_bytes) {
  if (kind_ != TargetKind::kExistingFile) return;
  const std::uint64_t unwritten = unwritten_bytes(fd_, offset_bytes, span_bytes).value_or(0);
  if (unwritten == 0) return;
  const auto text = fmt::format(
      "{} of the {} to read of {} were never written: reads of them "
      "don't reach the drive",
      format_size(unwritten), format_size(span_bytes), options_.path);
  if (!options_.accept_sparse) throw RefusedError(text, "file-is-sparse");
  warnings_.push_back({"file-is-sparse", text});
}

void RawTarget::keep_if_asked() {
  if (kind_ != TargetKind::kMadeFile || !options_.keep) return;
  const auto link = fmt::format("/proc/self/fd/{}", fd_);
  if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, options_.path.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return;
  }
  throw BrokenError(
      fmt::format("the file can't be kept as {}: {}", options_.path, std::strerror(errno)));
}

}  // namespace plimsoll
