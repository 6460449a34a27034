#include "oltp/server/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "results/base/error.h"

namespace plimsoll {
namespace {

// Everything the child needs, made before the fork: after it only system calls are safe.
struct Prepared {
  std::vector<char*> argv;
  std::vector<char*> environment;
  int log_fd;
  int procs_fd;  // -1: none
  int report_fd;
  pid_t parent;
};

[[noreturn]] void fail_child(const Prepared& prepared) {
  const int code = errno;
  [[maybe_unused]] const auto written = write(prepared.report_fd, &code, sizeof code);
  _exit(127);
}

bool drop_to(const ServerUser& user) {
  return setgroups(0, nullptr) == 0 && setgid(user.gid) == 0 && setuid(user.uid) == 0;
}

[[noreturn]] void run_child(const ProcessSpec& spec, const Prepared& prepared) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (setsid() < 0) fail_child(prepared);
  if (prepared.procs_fd >= 0 && write(prepared.procs_fd, "0", 1) != 1) fail_child(prepared);
  if (spec.user && !drop_to(*spec.user)) fail_child(prepared);
  // After the change of user, which clears it; and our parent may be gone already.
  if (prctl(PR_SET_PDEATHSIG, spec.death_signal) != 0) fail_child(prepared);
  if (getppid() != prepared.parent) _exit(127);
  const int null_fd = open("/dev/null", O_RDONLY);
  if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(prepared.log_fd, 1) < 0 ||
      dup2(prepared.log_fd, 2) < 0 || chdir(spec.cwd.c_str()) != 0)
    fail_child(prepared);
  execve(prepared.argv[0], prepared.argv.data(), prepared.environment.data());
  fail_child(prepared);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::optional<ServerUser> server_user(const std::vector<std::string>& names) {
  if (geteuid() != 0) return std::nullopt;
  for (const auto& name : names) {
    if (const passwd* entry = getpwnam(name.c_str()))
      return ServerUser{entry->pw_uid, entry->pw_gid, name};
  }
  if (const passwd* entry = getpwnam("nobody"))
    return ServerUser{entry->pw_uid, entry->pw_gid, "nobody"};
  throw RefusedError("there is no unprivileged user to run a database server as; add one: " +
                     fmt::format("adduser --system {}", names.front()));
}

ServerProcess::ServerProcess(const ProcessSpec& spec) {
  keeper_ = std::jthread([this, &spec] {
    start(spec);
    keep();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_; });
  if (error_ != 0) {
    throw BrokenError(
        fmt::format("starting {} failed: {}", spec.argv.front(), std::strerror(error_)));
  }
}

ServerProcess::~ServerProcess() {
  signal(SIGKILL);
}

void ServerProcess::start(const ProcessSpec& spec) {
  std::vector<std::string> argv = spec.argv;
  std::vector<std::string> environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
                                          "TZ=UTC", "HOME=" + spec.cwd.string(),
                                          "TMPDIR=" + spec.cwd.string()};
  int report[2] = {-1, -1};
  if (pipe2(report, O_CLOEXEC) != 0) error_ = errno;
  Prepared prepared{pointers(argv), pointers(environment), -1, -1, report[1], getpid()};
  prepared.log_fd = open(spec.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (prepared.log_fd < 0) error_ = errno;
  if (!spec.procs_file.empty()) {
    prepared.procs_fd = open(spec.procs_file.c_str(), O_WRONLY | O_CLOEXEC);
    if (prepared.procs_fd < 0) error_ = errno;
  }
  pid_t child = -1;
  if (error_ == 0) {
    child = fork();
    if (child == 0) run_child(spec, prepared);
    if (child < 0) error_ = errno;
  }
  if (report[1] >= 0) close(report[1]);
  if (child > 0) {
    int code = 0;
    if (read(report[0], &code, sizeof code) == sizeof code) error_ = code;
  }
  for (const int fd : {report[0], prepared.log_fd, prepared.procs_fd}) {
    if (fd >= 0) close(fd);
  }
  std::lock_guard lock(mutex_);
  pid_ = child;
  started_ = true;
  changed_.notify_all();
}

// Waits without reaping first, so that signal() can never hit another process with the same id.
void ServerProcess::keep() {
  if (pid_ < 0) return;
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  std::lock_guard lock(mutex_);
  int status = 0;
  waitpid(pid_, &status, 0);
  status_ = status;
  changed_.notify_all();
}

bool ServerProcess::running() const {
  std::lock_guard lock(mutex_);
  return pid_ > 0 && !status_;
}

void ServerProcess::signal(int number) {
  std::lock_guard lock(mutex_);
  if (pid_ > 0 && !status_) kill(pid_, number);
}

std::optional<int> ServerProcess::wait(std::int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                    [this] { return status_.has_value(); });
  return status_;
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace plimsoll
