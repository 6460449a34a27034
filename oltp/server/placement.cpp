#include "oltp/server/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kServerBytes = 1ULL << 30;

bool is_server(const std::string& engine) {
  return std::ranges::find(server_kinds(), engine, &ServerKind::engine) != server_kinds().end();
}

}  // namespace

Placement::Placement(const PlacementOptions& options) {
  if (options.engine.find(':') != std::string::npos) {
    throw UsageError(
        "a database is made in a folder: there --db names an engine, such as sqlite or postgresql");
  }
  if (!fs::is_directory(options.folder)) {
    throw UsageError(
        fmt::format("{} is no folder; name one of the drive", options.folder.string()));
  }
  remove_abandoned_servers(options.folder);
  if (is_server(options.engine)) {
    place_server(options);
  } else {
    place_file(options);
  }
  database_ = open_database(url_);
  if (server_) is_new_ = database_->tables().empty();
}

void Placement::place_file(const PlacementOptions& options) {
  const std::size_t mark = options.engine.find('?');
  const std::string engine = options.engine.substr(0, mark);
  const std::string settings = mark == std::string::npos ? "?" : options.engine.substr(mark);
  const std::string name = fmt::format("plimsoll-{}.db", engine);
  if (engine != "sqlite") server_kind(engine);  // throws, naming the servers there are
  open_database(engine + ":x" + settings);      // before a folder is made for what can't be
  fs::path path = options.folder / name;
  is_new_ = !fs::exists(path);
  is_kept_ = options.keep || !is_new_;
  if (!is_kept_) {
    scratch_ = std::make_unique<ScratchDir>(options.folder, engine);
    path = scratch_->path() / name;
  }
  if (options.memory_bytes && may_bound(options)) {
    bound_ = std::make_unique<MemoryBound>(*options.memory_bytes);
    bound_->enter();
  }
  url_ = engine + ":" + path.string() + settings;
}

void Placement::place_server(const PlacementOptions& options) {
  ServerOptions server;
  server.engine = options.engine;
  server.place = options.folder;
  server.keep =
      options.keep || fs::exists(options.folder / fmt::format("plimsoll-{}/data", server.engine));
  server.memory_bytes = options.memory_bytes.value_or(kServerBytes);
  server.max_connections = options.sessions;
  server.bounded = may_bound(options);
  server_ = std::make_unique<PrivateServer>(server);
  is_kept_ = server.keep;
  url_ = server_->url();
}

// Tried on a group that is removed again. A bound that was asked for and can't be had is refused.
bool Placement::may_bound(const PlacementOptions& options) {
  try {
    MemoryBound(options.memory_bytes.value_or(kServerBytes));
    return true;
  } catch (const RefusedError& refused) {
    if (options.memory_bytes && !options.accept_unbounded) throw;
    warning_ = Warning{refused.accept(), refused.what()};
    return false;
  }
}

void Placement::reclaim() {
  database_->reclaim();
  if (server_ && database_->tables().empty()) server_->discard();
}

nlohmann::ordered_json Placement::environment() const {
  if (server_) return server_->environment();
  if (bound_) return {{"memory_bytes", bound_->limit_bytes()}, {"memory_bounded", true}};
  return nullptr;
}

}  // namespace plimsoll
