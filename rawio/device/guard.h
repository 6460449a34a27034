// May this block device be written to?
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "rawio/device/identity.h"

namespace plimsoll {

// What `--erase` and `--erase=NAME` gave, and where results go.
struct EraseRequest {
  bool erase = false;
  std::string named;                  // after `--erase=`; empty without
  std::filesystem::path results_dir;  // need not exist yet; its nearest existing parent counts
};

enum class RefusalReason {
  kReadOnly,
  kMounted,  // it, a partition or what is stacked on it, in any visible mount name space
  kSwap,
  kSystemDrive,  // it lies beneath /
  kResults,      // it lies beneath the results folder
  kHolder,       // a member of md, LVM, dm-crypt, bcache, …, or behind a loop device
  kOpened,       // another process has it open
  kSignature,    // a file system, partition table, LVM, RAID, swap or crypto signature
  kUnseen,       // it can't be read, so nobody knows what is on it
};

struct Refusal {
  RefusalReason reason;
  std::string text;  // what is wrong and what mends it, after "/dev/sdb "
  // `--erase=SERIAL` waives signatures, and nothing else.
  bool waivable() const { return reason == RefusalReason::kSignature; }
};

// All that speaks against writing to the device, worst first; empty when it may be erased. Only
// reads. A user who may not open the device gets kUnseen.
std::vector<Refusal> find_refusals(const DeviceStack& stack,
                                   const std::filesystem::path& results_dir,
                                   const SystemRoots& roots = {});

// What `--erase=` must say to name this device: its serial number or wwid (a partition: its
// disk's); for one that has neither, such as zram and loop devices, the kernel's name ("loop7").
// The first is the one to show.
std::vector<std::string> erase_names(const DeviceStack& stack);

// The right to write to a block device, and the exclusive hold that keeps it: while it lives the
// kernel lets nobody mount the device or a partition of it, or claim it in another way.
class Consent {
 public:
  // Opens exclusively first and looks afterwards, so that nothing comes in between. Throws
  // RefusedError (one line: each reason with its mend) and UsageError when it is no block device.
  static Consent obtain(const std::filesystem::path& device, const EraseRequest& request);

  Consent(Consent&& other) noexcept;
  Consent& operator=(Consent&& other) noexcept;
  ~Consent();

  // Open for reading and writing, owned by this object.
  int fd() const { return fd_; }
  // The same device opened again with O_CLOEXEC and `flags` (such as O_RDWR | O_DIRECT), also when
  // its name has passed to another device meanwhile. Owned by the caller. Throws BrokenError.
  int open_again(int flags) const;
  const DeviceStack& stack() const { return stack_; }

 private:
  Consent(int fd, DeviceStack stack) : fd_(fd), stack_(std::move(stack)) {}
  int fd_ = -1;
  DeviceStack stack_;
};

}  // namespace plimsoll
