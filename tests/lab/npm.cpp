#include "tests/lab/npm.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/lab/process.h"
#include "tests/lab/temp_dir.h"

namespace plimsoll::lab {
namespace {

// Written last, so that an installation that was cut is done again.
std::filesystem::path stamp() {
  return npm_dir() / "node_modules" / ".plimsoll-installed";
}

bool is_installed() {
  return std::filesystem::exists(stamp()) &&
         read_text(stamp()) == read_text(npm_dir() / "package-lock.json");
}

std::string install() {
  if (is_installed()) return {};
  if (!has_program("npm")) return "npm is not installed";
  ProcessOptions options;
  options.working_dir = npm_dir();
  options.timeout = std::chrono::minutes(5);
  const ProcessResult result = run_process({"npm", "ci", "--no-audit", "--no-fund"}, options);
  if (result.exit_code != 0) return "npm ci failed: " + result.err.substr(0, result.err.find('\n'));
  write_text(stamp(), read_text(npm_dir() / "package-lock.json"));
  return {};
}

}  // namespace

std::filesystem::path npm_dir() {
  return std::filesystem::path(PLIMSOLL_TESTS_DIR) / "npm";
}

std::string npm_problem() {
  if (!has_program("node")) return "node is not installed";
  const int lock = open((npm_dir() / "package-lock.json").c_str(), O_RDONLY | O_CLOEXEC);
  flock(lock, LOCK_EX);
  const std::string problem = install();
  close(lock);
  return problem;
}

}  // namespace plimsoll::lab
