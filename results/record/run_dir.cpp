#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cctype>
#include <ctime>

#include "results/base/error.h"
#include "results/record/record.h"

namespace plimsoll {
namespace {

// As a part of a folder's name, whatever the drive's maker put in its own.
std::string file_name_part(const std::string& text) {
  std::string part;
  for (const char c : text) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    if (kept) {
      part += c;
    } else if (!part.empty() && part.back() != '-') {
      part += '-';
    }
  }
  while (!part.empty() && part.back() == '-') part.pop_back();
  return part.substr(0, 60);
}

}  // namespace

std::filesystem::path default_run_dir(const std::string& command, const std::string& drive) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::string name = fmt::format("{:%Y-%m-%dT%H-%M-%S}-{}", local, file_name_part(command));
  if (const std::string part = file_name_part(drive); !part.empty()) name += "-" + part;

  const std::filesystem::path runs = std::filesystem::path("results") / "runs";
  std::error_code error;
  std::filesystem::create_directories(runs, error);
  for (int number = 1; !error; ++number) {
    const auto dir = runs / (number == 1 ? name : fmt::format("{}-{}", name, number));
    if (std::filesystem::create_directory(dir, error)) return dir;  // false: another run's
  }
  throw BrokenError(fmt::format("can't make a folder in {} ({}): give --out one that can be made",
                                runs.string(), error.message()));
}

}  // namespace plimsoll
