// Places that a test may write to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace plimsoll::lab {

// A new empty folder under the build directory, or in /var/tmp when that is on tmpfs or overlay
// without direct I/O; removed with all it holds by the destructor.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // A path in it that nothing has yet.
  std::filesystem::path free_path(const std::string& name = "file");

 private:
  std::filesystem::path path_;
  int given_ = 0;
};

std::string read_text(const std::filesystem::path& file);
void write_text(const std::filesystem::path& file, const std::string& text);

// A TCP port on 127.0.0.1 that nothing listens to now.
std::uint16_t free_port();

}  // namespace plimsoll::lab
