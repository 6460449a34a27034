#include "cli/open_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "results/base/error.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLatest = "latest";

fs::path newest_run() {
  const fs::path runs = fs::path("results") / "runs";
  std::error_code error;
  std::optional<fs::directory_entry> newest;
  for (const auto& entry : fs::directory_iterator(runs, error)) {
    if (!fs::exists(entry.path() / "record.db", error)) continue;
    // Names begin with the time; a report made later doesn't make its run newer.
    if (!newest || entry.path().filename() > newest->path().filename()) newest = entry;
  }
  if (newest) return newest->path();
  throw UsageError(
      fmt::format("no run in {}: name the folder of one, or make one with "
                  "`plimsoll qualify DIR`",
                  fs::absolute(runs).string()));
}

}  // namespace

Record open_run(const std::string& run) {
  const bool latest = run == kLatest && !fs::exists(kLatest);
  return Record::open(latest ? newest_run() : fs::path(run));
}

}  // namespace plimsoll::cli
