#include "cli/oltp_place.h"

#include <fmt/format.h>

#include "cli/writable.h"
#include "results/base/error.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

// Besides the terminals': the load's, the probe's, set-up's.
constexpr unsigned kOtherSessions = 7;

// What the drive is found by: the data itself, or the folder it will be made in.
fs::path nearest_existing(const fs::path& path) {
  std::error_code ignored;
  const fs::path absolute = fs::absolute(path);
  return fs::exists(absolute, ignored) ? absolute : absolute.parent_path();
}

DeviceStack stack_of(const Database& database) {
  const std::string path = database.data_path();
  return path.empty() ? DeviceStack{} : identify(nearest_existing(path));
}

}  // namespace

OltpPlace::OltpPlace(const OltpPlaceOptions& options) : url_(options.db) {
  if (!options.dir.empty()) {
    if (fs::is_directory(options.dir)) require_writable(options.dir);
    PlacementOptions placed;
    if (!options.db.empty()) placed.engine = options.db;
    placed.folder = options.dir;
    placed.keep = options.keep;
    if (options.memory_bytes > 0) placed.memory_bytes = options.memory_bytes;
    placed.accept_unbounded = options.accept_unbounded;
    placed.sessions = static_cast<unsigned>(options.sessions) + kOtherSessions;
    placement_ = std::make_unique<Placement>(placed);
    url_ = placement_->url();
    database_ = &placement_->database();
  } else if (options.db.empty()) {
    throw UsageError(
        "which database? give --db sqlite:PATH, or --place DIR to have one made there");
  } else if (options.db.find(':') == std::string::npos) {
    throw UsageError(fmt::format("--db {} is an engine: say where with --place DIR", options.db));
  } else {
    opened_ = open_database(url_);
    database_ = opened_.get();
  }
  stack_ = stack_of(*database_);
}

void OltpPlace::reclaim() {
  if (placement_) {
    placement_->reclaim();
  } else {
    database_->reclaim();
  }
}

void OltpPlace::describe(Record& record) {
  record.set_environment("database", database_->environment());
  if (!placement_) return;
  if (const auto server = placement_->environment(); !server.is_null())
    record.set_environment("server", server);
  if (placement_->warning()) record.warn(*placement_->warning());
}

}  // namespace plimsoll::cli
