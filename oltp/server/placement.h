// A database put into a folder of the drive: a file, or a server of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "oltp/database/database.h"
#include "oltp/server/private_server.h"

namespace plimsoll {

struct PlacementOptions {
  std::string engine = "sqlite";  // "sqlite?cache=1g", "postgresql", "mariadb", "mysql"
  std::filesystem::path folder;
  bool keep = false;  // it stays in `folder`
  // The whole database with its page cache is held to it. Without: a server is sized and held to
  // 1 GiB where we may, SQLite is free.
  std::optional<std::uint64_t> memory_bytes;
  bool accept_unbounded = false;  // when it can't be held to it
  unsigned sessions = 100;        // that a server must take
};

// One that is kept (by this or an earlier call) is `folder`/plimsoll-ENGINE.db or, of a server,
// `folder`/plimsoll-ENGINE; one that isn't lies in a scratch folder and goes with this object. What
// a killed run left is ended and removed. Not thread-safe.
class Placement {
 public:
  explicit Placement(const PlacementOptions& options);  // throws Error naming the mend

  Database& database() { return *database_; }
  const std::string& url() const { return url_; }
  bool is_new() const { return is_new_; }  // has to be loaded
  bool is_kept() const { return is_kept_; }
  // After a drop: a kept server without tables goes, too.
  void reclaim();
  // How it was placed, for the record; null for SQLite without a bound.
  nlohmann::ordered_json environment() const;
  // That its memory isn't bounded, where it should be.
  const std::optional<Warning>& warning() const { return warning_; }

 private:
  void place_file(const PlacementOptions& options);
  void place_server(const PlacementOptions& options);
  bool may_bound(const PlacementOptions& options);

  std::unique_ptr<MemoryBound> bound_;
  std::unique_ptr<ScratchDir> scratch_;
  std::unique_ptr<PrivateServer> server_;
  std::unique_ptr<Database> database_;
  std::string url_;
  bool is_new_ = true;
  bool is_kept_ = false;
  std::optional<Warning> warning_;
};

}  // namespace plimsoll
