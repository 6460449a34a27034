// Where `qualify` puts its files: a folder of the drive, or a block device it may erase.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "rawio/device/guard.h"
#include "rawio/device/identity.h"

namespace plimsoll::cli {

// A folder is used as it is. A block device takes the raw part itself; for the database it is then
// given an ext4, mounted where this process alone sees it (a mount name space of its own, so that a
// kill unmounts it), and wiped of it at the end.
class QualifyPlace {
 public:
  // Looks only. Throws UsageError (no such thing, no folder), RefusedError (memory; a block device
  // without `erase`, or one that the guard refuses).
  QualifyPlace(const std::filesystem::path& target, const EraseRequest& request);
  ~QualifyPlace();
  QualifyPlace(const QualifyPlace&) = delete;
  QualifyPlace& operator=(const QualifyPlace&) = delete;

  bool is_device() const { return is_device_; }
  const std::filesystem::path& target() const { return target_; }
  const DeviceStack& stack() const { return stack_; }
  const EraseRequest& request() const { return request_; }

  // The folder for the database, made ready; `mount_point` is a folder to make and use for a block
  // device. Throws RefusedError (mkfs.ext4 missing, no right to mount), BrokenError.
  const std::filesystem::path& prepare_folder(const std::filesystem::path& mount_point);

 private:
  void mount(const std::filesystem::path& mount_point);

  std::filesystem::path target_;
  EraseRequest request_;
  bool is_device_ = false;
  DeviceStack stack_;
  std::filesystem::path folder_;
  std::optional<std::filesystem::path> mounted_;
};

}  // namespace plimsoll::cli
