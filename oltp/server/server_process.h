// A child process that does not outlive us.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace plimsoll {

// Whom a child runs as.
struct ServerUser {
  uid_t uid;
  gid_t gid;
  std::string name;
};

// As root: the first of `names` that exists, else "nobody". Otherwise: empty, which is oneself.
std::optional<ServerUser> server_user(const std::vector<std::string>& names);

struct ProcessSpec {
  std::vector<std::string> argv;  // argv[0] is a path
  std::filesystem::path cwd;
  std::filesystem::path log;         // stdout and stderr are appended to it
  std::optional<ServerUser> user;    // to drop to; empty: stay who we are
  std::filesystem::path procs_file;  // of a control group to enter first; empty: none
  int death_signal = SIGKILL;        // sent by the kernel when we die, however we die
};

// In a session of its own, so that Ctrl-C reaches us and not it. Thread-safe.
class ServerProcess {
 public:
  explicit ServerProcess(const ProcessSpec& spec);  // throws BrokenError when it can't be started
  ~ServerProcess();                                 // SIGKILL, if it still runs
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const;
  void signal(int number);  // does nothing once it has ended
  // Its wait status, empty when it still runs after `timeout_ns`.
  std::optional<int> wait(std::int64_t timeout_ns);

 private:
  void start(const ProcessSpec& spec);
  void keep();

  pid_t pid_ = -1;
  int error_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  std::optional<int> status_;
  // The kernel's death signal follows the thread that forked: this one lives as long as the child.
  std::jthread keeper_;
};

// "exit status 1", "signal 9".
std::string describe_wait_status(int status);

}  // namespace plimsoll
