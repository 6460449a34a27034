// What a raw workload runs on: a block device or a file, opened and safe to use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rawio/device/guard.h"
#include "rawio/workload/io_workload.h"
#include "results/base/progress.h"
#include "results/record/warning.h"

namespace plimsoll {

struct TargetOptions {
  std::string path;                   // literal: a colon is a colon
  std::uint64_t file_size_bytes = 0;  // of a file to be made
  std::uint64_t offset_bytes = 0;     // of that size, what lies before the part that is used
  bool writes = false;                // the workload writes
  bool keep = false;                  // a file made gets its name and stays
  bool overwrite = false;             // an existing file may be written into
  EraseRequest erase;                 // asked of the guard when a block device is written to
  bool accept_buffered = false;       // without O_DIRECT where there is none
  bool accept_sparse = false;         // read what was never written
};

enum class TargetKind { kBlockDevice, kExistingFile, kMadeFile };

// Owns the open file. A file it made has no name until it is kept, so that neither an error nor a
// kill leaves it behind.
class RawTarget {
 public:
  // Looks before anything is written: kind, space, O_DIRECT, the guard's consent. Throws UsageError
  // (no such thing) or RefusedError (not safe, not direct, no space); BrokenError when the drive
  // fails. Among device nodes (/dev) no file is made: what isn't there is a mistyped device.
  static RawTarget open(const TargetOptions& options);

  RawTarget(RawTarget&& other) noexcept;
  RawTarget& operator=(RawTarget&&) = delete;
  ~RawTarget();

  // Writes a made file full of random data and flushes it; nothing for other kinds. Throws
  // Error(kInterrupted) when stopped, BrokenError when the drive fails.
  void fill(std::uint64_t seed, const std::stop_token& stop, const ProgressSink& progress);

  // Gives a made file its name when it is to be kept. Throws BrokenError when the name is taken.
  void keep_if_asked();

  // Throws RefusedError when parts of the span were never written (reads of them don't reach the
  // drive), or only warns where accepted.
  void check_written(std::uint64_t offset_bytes, std::uint64_t span_bytes);

  const TargetShape& shape() const { return shape_; }
  TargetKind kind() const { return kind_; }
  bool in_folder() const { return kind_ == TargetKind::kMadeFile && dir_ == options_.path; }
  bool direct() const { return direct_; }
  int fd() const { return fd_; }
  // The same opened with O_DSYNC; at the first call. Throws BrokenError.
  int durable_fd();
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  explicit RawTarget(const TargetOptions& options) : options_(options) {}
  void open_device();
  void open_existing_file();
  void make_file(const std::filesystem::path& dir);
  void open_file(int flags);
  void refuse_memory();
  void find_alignment();

  TargetOptions options_;
  TargetShape shape_;
  TargetKind kind_ = TargetKind::kExistingFile;
  bool direct_ = true;
  int fd_ = -1;
  int durable_fd_ = -1;
  std::optional<Consent> consent_;  // to write to a block device, and the hold on it
  std::filesystem::path dir_;       // of a made file
  std::vector<Warning> warnings_;
};

}  // namespace plimsoll
