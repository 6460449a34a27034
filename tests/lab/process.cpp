#include "tests/lab/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace plimsoll::lab {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_fd = -1;
  int write_fd = -1;
  Pipe() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    read_fd = fds[0];
    write_fd = fds[1];
  }
  ~Pipe() {
    close_end(read_fd);
    close_end(write_fd);
  }
  static void close_end(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

// Everything that allocates is made before the fork.
struct Prepared {
  std::vector<std::string> environment;
  std::vector<char*> argv_pointers;
  std::vector<char*> environment_pointers;
};

Prepared prepare(const std::vector<std::string>& argv, const ProcessOptions& options) {
  Prepared prepared;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable(*entry);
    bool replaced = false;
    for (const auto& [name, value] : options.environment) {
      replaced |= variable.compare(0, name.size() + 1, name + "=") == 0;
    }
    if (!replaced) prepared.environment.push_back(variable);
  }
  for (const auto& [name, value] : options.environment) {
    prepared.environment.push_back(name + "=" + value);
  }
  for (std::string& entry : prepared.environment) {
    prepared.environment_pointers.push_back(entry.data());
  }
  for (const std::string& argument : argv) {
    prepared.argv_pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  prepared.argv_pointers.push_back(nullptr);
  prepared.environment_pointers.push_back(nullptr);
  return prepared;
}

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
}

[[noreturn]] void become(const Prepared& prepared, const ProcessOptions& options,
                         const std::array<int, 3>& fds, int error_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  reset_signals();
  for (int fd = 0; fd < 3; ++fd) {
    const int source = fds[static_cast<std::size_t>(fd)];
    dup2(source >= 0 ? source : open("/dev/null", O_RDWR), fd);
  }
  if (options.working_dir.empty() || chdir(options.working_dir.c_str()) == 0) {
    execvpe(prepared.argv_pointers[0], prepared.argv_pointers.data(),
            prepared.environment_pointers.data());
  }
  const int error = errno;
  static_cast<void>(!write(error_fd, &error, sizeof error));
  _exit(127);
}

// Appends what can be read now; false at the end of the file.
bool read_some(int fd, std::string& text) {
  char buffer[65536];
  const ssize_t bytes = read(fd, buffer, sizeof buffer);
  if (bytes > 0) text.append(buffer, static_cast<std::size_t>(bytes));
  return bytes > 0 || (bytes < 0 && errno == EINTR);
}

void feed(Pipe& pipe, const std::string& input, std::size_t& written) {
  const ssize_t bytes = write(pipe.write_fd, input.data() + written, input.size() - written);
  if (bytes > 0) written += static_cast<std::size_t>(bytes);
  if (bytes < 0 || written == input.size()) Pipe::close_end(pipe.write_fd);
}

// Until the program has closed its output or `until`.
void pump(Pipe& in, Pipe& out, Pipe& err, const std::string& input, std::size_t& written,
          ProcessResult& result, Clock::time_point until) {
  while (out.read_fd >= 0 || err.read_fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return;
    pollfd fds[] = {{out.read_fd, POLLIN, 0}, {err.read_fd, POLLIN, 0}, {in.write_fd, POLLOUT, 0}};
    if (poll(fds, 3, static_cast<int>(left)) <= 0) continue;
    if (fds[0].revents != 0 && !read_some(out.read_fd, result.out)) Pipe::close_end(out.read_fd);
    if (fds[1].revents != 0 && !read_some(err.read_fd, result.err)) Pipe::close_end(err.read_fd);
    if (fds[2].revents != 0) feed(in, input, written);
  }
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const ProcessOptions& options, int out_fd,
                 int err_fd, int in_fd) {
  const Prepared prepared = prepare(argv, options);
  Pipe error;
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("can't fork");
  if (pid_ == 0) become(prepared, options, {in_fd, out_fd, err_fd}, error.write_fd);
  Pipe::close_end(error.write_fd);
  int reason = 0;
  if (read(error.read_fd, &reason, sizeof reason) == sizeof reason) {
    waitpid(pid_, nullptr, 0);
    throw std::runtime_error("can't start " + argv[0] + ": " + std::strerror(reason));
  }
}

Process::~Process() {
  if (status_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::send(int signal) const {
  if (!status_) kill(pid_, signal);
}

std::optional<int> Process::wait(std::chrono::milliseconds limit) {
  if (status_) return status_;
  const int pid_fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  pollfd ended{pid_fd, POLLIN, 0};
  const int ready = poll(&ended, 1, static_cast<int>(limit.count()));
  close(pid_fd);
  int status = 0;
  if (ready > 0 && waitpid(pid_, &status, 0) == pid_) status_ = status;
  return status_;
}

ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options) {
  Pipe in, out, err;
  const auto start = Clock::now();
  const auto end = start + options.timeout;
  Process process(argv, options, out.write_fd, err.write_fd, in.read_fd);
  Pipe::close_end(in.read_fd);
  Pipe::close_end(out.write_fd);
  Pipe::close_end(err.write_fd);
  if (options.input.empty()) Pipe::close_end(in.write_fd);
  if (in.write_fd >= 0) fcntl(in.write_fd, F_SETFL, O_NONBLOCK);
  signal(SIGPIPE, SIG_IGN);

  ProcessResult result;
  std::size_t written = 0;
  if (options.kill_signal != 0) {
    auto from = start;
    while (!options.kill_counts_from.empty() && from < end && !process.wait({}) &&
           !std::filesystem::exists(options.kill_counts_from)) {
      from = Clock::now() + std::chrono::milliseconds{10};
      pump(in, out, err, options.input, written, result, from);
    }
    pump(in, out, err, options.input, written, result, from + options.kill_after);
    const auto left = from + options.kill_after - Clock::now();
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left);
    if (!process.wait(std::max(left_ms, std::chrono::milliseconds{0}))) {
      process.send(options.kill_signal);
    }
  }
  pump(in, out, err, options.input, written, result, end);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  auto status = process.wait(std::max(left, std::chrono::milliseconds{0}));
  if (!status) {
    result.timed_out = true;
    process.send(SIGKILL);
    status = process.wait(std::chrono::seconds{10});
  }
  if (status && WIFEXITED(*status)) result.exit_code = WEXITSTATUS(*status);
  if (status && WIFSIGNALED(*status)) result.signal = WTERMSIG(*status);
  return result;
}

pid_t fork_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("can't fork");
  if (child > 0) return child;
  reset_signals();
  int result = 2;
  try {
    result = work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in a child of the test: %s\n", error.what());
  }
  _exit(result);
}

bool has_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  // Those for root are often not in a user's path.
  std::istringstream folders(std::string(path == nullptr ? "/usr/bin:/bin" : path) +
                             ":/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace plimsoll::lab
