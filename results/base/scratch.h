// Files on the drive under test that neither an error nor a kill leaves behind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

// An open file without a name in `dir` (O_TMPFILE, or created and unlinked at once where the file
// system lacks it): the kernel frees it when the process ends, however it ends. Returns the file
// descriptor, owned by the caller; `flags` are added to O_RDWR | O_CLOEXEC. Throws BrokenError.
int open_unnamed_file(const std::filesystem::path& dir, int flags);

// A folder `plimsoll-NAME-XXXXXX` in `dir`, removed with all it holds by the destructor unless
// keep() was called. It holds a lock file that the process keeps locked, by which a later call
// knows a folder left by a killed process from one in use. The constructor first removes what a
// killed run left in `dir` under the same NAME, so that a repeat never finds its drive filled by
// the run before; it throws BrokenError where no folder can be made. One thread at a time.
class ScratchDir {
 public:
  ScratchDir(const std::filesystem::path& dir, const std::string& name);
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // The folder stays from now on, also when the process is killed.
  void keep();

  // Folders in `dir` whose process is gone; and the same, removed. `name` limits it to folders of
  // that NAME. Never touches one in use, one of another user, one with something mounted in it, or
  // one without Plimsoll's lock file. What can't be removed is left.
  static std::vector<std::filesystem::path> abandoned(const std::filesystem::path& dir,
                                                      const std::string& name = {});
  static void remove_abandoned(const std::filesystem::path& dir, const std::string& name = {});

 private:
  std::filesystem::path path_;
  int lock_fd_ = -1;
  bool keep_ = false;
};

}  // namespace plimsoll
