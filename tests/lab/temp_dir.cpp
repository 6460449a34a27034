#include "tests/lab/temp_dir.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace plimsoll::lab {
namespace {

namespace fs = std::filesystem;

bool has_direct_io(const fs::path& dir) {
  std::string path = (dir / "direct-XXXXXX").string();
  const int fd = mkostemp(path.data(), O_DIRECT);
  if (fd < 0) return false;
  close(fd);
  unlink(path.c_str());
  return true;
}

fs::path parent() {
  const fs::path near = fs::path(PLIMSOLL_BUILD_DIR) / "test-scratch";
  fs::create_directories(near);
  return has_direct_io(near) ? near : fs::path("/var/tmp");
}

}  // namespace

TempDir::TempDir() {
  std::string path = (parent() / "plimsoll-test-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("can't make " + path);
  path_ = path;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TempDir::free_path(const std::string& name) {
  return path_ / (name + "-" + std::to_string(++given_));
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("can't read " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  if (!(out << text).flush()) throw std::runtime_error("can't write " + file.string());
}

std::uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  close(fd);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

}  // namespace plimsoll::lab
