#include "tests/lab/block_devices.h"

#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/loop.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

namespace plimsoll::lab {
namespace fs = std::filesystem;

namespace {

constexpr char kPrefix[] = "plimsoll-lab-";

std::string why(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

// Closes on scope exit.
struct Fd {
  explicit Fd(int value) : value(value) {}
  ~Fd() {
    if (value >= 0) close(value);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int value;
};

// Waits for `done`, at most `limit_ms`.
template <typename Condition>
bool wait_until(Condition done, int limit_ms) {
  for (int waited_ms = 0; waited_ms < limit_ms; waited_ms += 5) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return done();
}

// In the child: becomes the program, silent, and dies with the test.
[[noreturn]] void become(const std::vector<std::string>& argv) {
  std::vector<char*> arguments;
  for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setenv("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", 1);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

pid_t start_program(const std::vector<std::string>& argv) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    become(argv);
  }
  return child;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream stream(path);
  stream << text;
  stream.flush();
  if (!stream) throw Unavailable(why("can't write " + path.string()));
}

std::string first_line_of(const fs::path& path) {
  std::ifstream stream(path);
  std::string text;
  std::getline(stream, text);
  return text;
}

// The process a lab path was made by, from "…/plimsoll-lab-PID-XXXXXX"; 0 when it is no such path.
pid_t maker_of(const std::string& path) {
  const auto at = path.find(kPrefix);
  return at == std::string::npos ? 0 : std::atoi(path.c_str() + at + sizeof(kPrefix) - 1);
}

bool is_orphan(const std::string& path) {
  const pid_t maker = maker_of(path);
  return maker > 0 && kill(maker, 0) != 0 && errno == ESRCH;
}

// Of a loop device: its own, and those that a killed test left under the same name.
void delete_partitions(const std::string& name) {
  const Fd fd(open(("/dev/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/block/" + name, error)) {
    const std::string number = first_line_of(entry.path() / "partition");
    if (number.empty()) continue;
    blkpg_partition partition{};
    partition.pno = std::atoi(number.c_str());
    blkpg_ioctl_arg argument{BLKPG_DEL_PARTITION, 0, sizeof partition, &partition};
    ioctl(fd.value, BLKPG, &argument);
  }
}

void clear_loop(const std::string& name) {
  delete_partitions(name);
  const Fd fd(open(("/dev/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.value >= 0) ioctl(fd.value, LOOP_CLR_FD, 0);
}

void unmount_orphans() {
  std::ifstream mounts("/proc/self/mounts");
  std::string source, point, rest;
  while (mounts >> source >> point && std::getline(mounts, rest)) {
    if (is_orphan(point)) umount2(point.c_str(), MNT_DETACH);
  }
}

void clear_orphaned_loops() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/block", error)) {
    const auto backing = entry.path() / "loop/backing_file";
    if (fs::exists(backing, error) && is_orphan(first_line_of(backing))) {
      clear_loop(entry.path().filename().string());
    }
  }
}

// Mounts, loop devices and folders of tests that were killed. A loop device may stand on a mount
// and loses the path it is known by with it; one that is mounted is only cleared at its last use.
void remove_orphans() {
  clear_orphaned_loops();
  unmount_orphans();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev/shm", error)) {
    if (is_orphan(entry.path().string())) fs::remove_all(entry.path(), error);
  }
}

void remove_orphans_once() {
  static const bool done = (remove_orphans(), true);
  static_cast<void>(done);
}

loop_config make_config(int backing_fd, const LoopOptions& options) {
  loop_config config{};
  config.fd = static_cast<__u32>(backing_fd);
  config.block_size = options.sector_bytes;
  if (options.direct_io) config.info.lo_flags |= LO_FLAGS_DIRECT_IO;
  if (options.read_only) config.info.lo_flags |= LO_FLAGS_READ_ONLY;
  if (options.scan_partitions) config.info.lo_flags |= LO_FLAGS_PARTSCAN;
  return config;
}

// Attaches to a free loop device; another process may take the one found first.
int attach(const fs::path& file, const LoopOptions& options) {
  const Fd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (control.value < 0) throw Unavailable(why("no loop devices: /dev/loop-control"));
  const int access = options.read_only ? O_RDONLY : O_RDWR;
  const int direct = options.direct_io ? O_DIRECT : 0;
  const Fd backing(open(file.c_str(), access | direct | O_CLOEXEC));
  if (backing.value < 0) throw Unavailable(why("can't open " + file.string()));
  const loop_config config = make_config(backing.value, options);
  for (int attempt = 0; attempt < 50; ++attempt) {
    const int index = ioctl(control.value, LOOP_CTL_GET_FREE);
    if (index < 0) throw Unavailable(why("no free loop device"));
    const std::string node = "/dev/loop" + std::to_string(index);
    const Fd device(open(node.c_str(), O_RDWR | O_CLOEXEC));
    if (device.value < 0) throw Unavailable(why("can't open " + node));
    if (ioctl(device.value, LOOP_CONFIGURE, &config) == 0) return index;
    if (errno != EBUSY) throw Unavailable(why("can't attach " + file.string() + " to " + node));
  }
  throw Unavailable("every loop device found free was taken at once by others");
}

}  // namespace

int run_program(const std::vector<std::string>& argv) {
  const pid_t child = start_program(argv);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

DeviceDir::DeviceDir(const fs::path& parent) {
  remove_orphans_once();
  std::string name = (parent / (kPrefix + std::to_string(getpid()) + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) throw Unavailable(why("can't make a folder in " + name));
  path_ = name;
}

DeviceDir::~DeviceDir() {
  std::error_code error;
  fs::remove_all(path_, error);
}

LoopDevice::LoopDevice(const LoopOptions& options) : file_(options.file) {
  remove_orphans_once();
  if (geteuid() != 0) throw Unavailable("loop devices need root");
  if (file_.empty()) {
    made_ = std::make_unique<DeviceDir>(options.dir);
    file_ = made_->path() / "disk";
    write_text(file_, "");
    if (truncate(file_.c_str(), static_cast<off_t>(options.size_bytes)) != 0) {
      throw Unavailable(why("can't size " + file_.string()));
    }
  }
  file_ = fs::canonical(file_);  // as the kernel will name it
  index_ = attach(file_, options);
  if (!options.scan_partitions) delete_partitions(name());
  const std::string queue = "/sys/block/" + name() + "/queue/";
  std::ofstream(queue + "iostats") << (options.iostats ? 1 : 0);
  // A cache turned off stays off for whoever is attached next, and then no flush arrives.
  std::ofstream(queue + "write_cache") << "write back";
}

LoopDevice::~LoopDevice() {
  detach();
}

void LoopDevice::add_partition(int number, std::uint64_t start_bytes, std::uint64_t length_bytes) {
  const Fd fd(open(node().c_str(), O_RDONLY | O_CLOEXEC));
  blkpg_partition partition{};
  partition.pno = number;
  partition.start = static_cast<long long>(start_bytes);
  partition.length = static_cast<long long>(length_bytes);
  blkpg_ioctl_arg argument{BLKPG_ADD_PARTITION, 0, sizeof partition, &partition};
  if (ioctl(fd.value, BLKPG, &argument) != 0) throw Unavailable(why("can't add a partition"));
}

void LoopDevice::detach() {
  if (index_ < 0) return;
  const fs::path backing = "/sys/block/" + name() + "/loop/backing_file";
  // Detached by others, the name may be another's by now.
  if (first_line_of(backing) == file_.string()) {
    clear_loop(name());
    // With the node open elsewhere the kernel detaches at the last close; give that a moment.
    wait_until([&] { return !fs::exists(backing); }, 500);
  }
  index_ = -1;
}

ZramDevice::ZramDevice(std::uint64_t size_bytes) {
  if (geteuid() != 0) throw Unavailable("zram needs root");
  const std::string number = first_line_of("/sys/class/zram-control/hot_add");
  if (number.empty()) throw Unavailable("no zram: /sys/class/zram-control/hot_add gives nothing");
  index_ = std::atoi(number.c_str());
  write_text("/sys/block/" + name() + "/disksize", std::to_string(size_bytes));
}

ZramDevice::~ZramDevice() {
  const auto removed = [this] {
    std::ofstream("/sys/block/" + name() + "/reset") << 1;
    std::ofstream("/sys/class/zram-control/hot_remove") << index_;
    return !fs::exists("/sys/block/" + name());
  };
  wait_until(removed, 500);
}

NbdkitDevice::NbdkitDevice(const NbdkitOptions& options) {
  for (const char* program : {"nbdkit", "nbdfuse"}) {
    if (!has_program(program)) throw Unavailable(std::string("install ") + program);
  }
  if (geteuid() != 0) throw Unavailable("mounting nbdfuse needs root");
  const fs::path mount_point = dir_.path() / "mnt";
  fs::create_directory(mount_point);
  std::vector<std::string> argv = {"nbdfuse", mount_point.string(), "--socket-activation", "nbdkit",
                                   "-f"};
  for (const auto& filter : options.filters) argv.push_back("--filter=" + filter);
  argv.insert(argv.end(), options.plugin.begin(), options.plugin.end());
  argv.insert(argv.end(), options.parameters.begin(), options.parameters.end());
  if (std::count(options.filters.begin(), options.filters.end(), "pause") > 0) {
    argv.push_back("pause-control=" + (dir_.path() / "control").string());
  }
  server_ = start_program(argv);
  const fs::path served = mount_point / "nbd";
  const bool up = wait_until([&] { return access(served.c_str(), F_OK) == 0; }, 5000);
  try {
    if (!up) throw Unavailable("nbdfuse didn't serve " + served.string() + " in 5 s");
    loop_ = std::make_unique<LoopDevice>(
        LoopOptions{.sector_bytes = options.sector_bytes, .direct_io = true, .file = served});
  } catch (...) {
    stop();
    throw;
  }
}

NbdkitDevice::~NbdkitDevice() {
  stop();
}

void NbdkitDevice::stop() {
  loop_.reset();
  umount2((dir_.path() / "mnt").c_str(), MNT_DETACH);
  if (server_ <= 0) return;
  kill(-server_, SIGTERM);
  const bool ended =
      wait_until([&] { return waitpid(server_, nullptr, WNOHANG) == server_; }, 2000);
  if (!ended) {
    kill(-server_, SIGKILL);
    waitpid(server_, nullptr, 0);
  }
  server_ = -1;
}

void NbdkitDevice::pause() {
  control('p');
}
void NbdkitDevice::resume() {
  control('r');
}

void NbdkitDevice::control(char command) {
  const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (dir_.path() / "control").string();
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  char answer = 0;
  const bool done = connect(fd.value, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                    write(fd.value, &command, 1) == 1 && read(fd.value, &answer, 1) == 1;
  // nbdkit answers with the capital letter once no request is in flight, or runs again.
  if (!done || answer != command - 'a' + 'A') throw std::runtime_error("nbdkit's pause: " + path);
}

Ext4Mount::Ext4Mount(const std::string& node, const std::string& mount_options) {
  if (!has_program("mkfs.ext4")) throw Unavailable("install e2fsprogs: no mkfs.ext4");
  if (run_program({"mkfs.ext4", "-q", "-F", node}) != 0) {
    throw Unavailable("mkfs.ext4 failed on " + node);
  }
  if (mount(node.c_str(), path().c_str(), "ext4", 0, mount_options.c_str()) != 0) {
    throw Unavailable(why("can't mount " + node));
  }
}

Ext4Mount::~Ext4Mount() {
  umount2(path().c_str(), MNT_DETACH);
}

}  // namespace plimsoll::lab
