#include "cli/oltp_place.h"

#include <fmt/format.h>

#include "cli/writable.h"
#include "results/base/error.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kScratchName = "oltp";

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
    place(options);
  } else if (options.db.empty()) {
    throw UsageError(
        "which database? give --db sqlite:PATH, or --place DIR to have one made there");
  } else if (options.db.find(':') == std::string::npos) {
    throw UsageError(fmt::format("--db {} is an engine: say where with --place DIR", options.db));
  }
  database_ = open_database(url_);
  stack_ = stack_of(*database_);
}

void OltpPlace::place(const OltpPlaceOptions& options) {
  if (options.db.find(':') != std::string::npos) {
    throw UsageError("--place DIR makes a database: with it, --db names an engine such as sqlite");
  }
  if (!fs::is_directory(options.dir)) {
    throw UsageError(
        fmt::format("--place {}: no such folder; name one of the drive", options.dir.string()));
  }
  require_writable(options.dir);
  const std::size_t mark = options.db.find('?');
  const std::string engine = options.db.empty() ? "sqlite" : options.db.substr(0, mark);
  const std::string settings = mark == std::string::npos ? "?" : options.db.substr(mark);
  const std::string name = fmt::format("plimsoll-{}.db", engine);
  ScratchDir::remove_abandoned(options.dir, kScratchName);
  fs::path path = options.dir / name;
  is_new_ = !fs::exists(path);
  if (is_new_ && !options.keep) {
    open_database(engine + ":x" + settings);  // before a folder is made for what can't be
    scratch_ = std::make_unique<ScratchDir>(options.dir, kScratchName);
    path = scratch_->path() / name;
  }
  url_ = engine + ":" + path.string() + settings;
}

}  // namespace plimsoll::cli
