// Errors that end a command, and the exit codes they end it with.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace plimsoll {

enum class ExitCode : int {
  kDone = 0,          // done, and the verdict is not "fails"
  kFails = 1,         // done, and the verdict is "fails"
  kUsage = 2,         // wrong usage
  kRefused = 3,       // safety, missing privilege or package
  kBroke = 4,         // the run broke: device error, database gone, no space
  kInterrupted = 130  // Ctrl-C or SIGTERM; what was measured is in the record
};

// A set-up or run-ending error. `what()` is one line, written for the user: what was wrong, then
// what mends it. Inside a measured loop errors are values, never this.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

// The three that are thrown most.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

// `accept` is the name for `--accept NAME` that would let it pass, empty when nothing would.
class RefusedError : public Error {
 public:
  explicit RefusedError(const std::string& message, std::string accept = {})
      : Error(ExitCode::kRefused,
              accept.empty() ? message : message + " (to accept it: --accept " + accept + ")"),
        accept_(std::move(accept)) {}
  const std::string& accept() const noexcept { return accept_; }

 private:
  std::string accept_;
};

class BrokenError : public Error {
 public:
  explicit BrokenError(const std::string& message) : Error(ExitCode::kBroke, message) {}
};

}  // namespace plimsoll
