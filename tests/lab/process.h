// Programs that a test starts, with their output, and always an end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::lab {

struct ProcessOptions {
  std::string input;                                             // standard input, then its end
  std::vector<std::pair<std::string, std::string>> environment;  // added to the test's own
  std::filesystem::path working_dir;                             // empty: the test's
  // SIGKILLed after this; a test that expects an end should then fail by timed_out.
  std::chrono::milliseconds timeout{60'000};
  // Sent `kill_after` the start, when not 0; or so long after `kill_counts_from` came to exist:
  // a program needs a while to start that depends on the machine.
  int kill_signal = 0;
  std::chrono::milliseconds kill_after{0};
  std::filesystem::path kill_counts_from;
};

struct ProcessResult {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;      // that ended it; 0: none
  bool timed_out = false;
  std::string out;
  std::string err;
};

// Runs argv[0] (found in PATH) to its end. Signals are unblocked and at their defaults in it.
// Throws std::runtime_error when it can't be started.
ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options = {});

// A program in the background; killed (SIGKILL) and waited for by the destructor. Its output goes
// to the file descriptors given, both to /dev/null by default. It also ends when the test process
// does.
class Process {
 public:
  explicit Process(const std::vector<std::string>& argv, const ProcessOptions& options = {},
                   int out_fd = -1, int err_fd = -1, int in_fd = -1);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  // The wait status once it has ended; empty when it has not within `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit);

 private:
  pid_t pid_;
  std::optional<int> status_;
};

// A child of the test that does `work` with the signals' default actions and ends with its result,
// or with 2 when it throws: it never gets back into the tests. The caller waits for it. Throws
// std::runtime_error when there can be no child.
pid_t fork_child(const std::function<int()>& work);

// Whether a program of that name is in PATH.
bool has_program(const std::string& name);

}  // namespace plimsoll::lab
