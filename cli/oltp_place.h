// Which database `oltp` works on: one by URL, or one placed in a folder of the drive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "oltp/server/placement.h"
#include "rawio/device/identity.h"
#include "results/record/record.h"

namespace plimsoll::cli {

struct OltpPlaceOptions {
  std::string db;  // a URL; with `dir` an engine: "sqlite?cache=1g", "postgresql", "mariadb"
  std::filesystem::path dir;  // --place
  bool keep = false;
  std::uint64_t memory_bytes = 0;  // --memory; 0: not given
  bool accept_unbounded = false;
  int sessions = 1;  // of the run
};

// A database by its URL, or a Placement with the drive beneath it.
class OltpPlace {
 public:
  // Throws UsageError and whatever opening the database throws.
  explicit OltpPlace(const OltpPlaceOptions& options);

  Database& database() { return *database_; }
  const std::string& url() const { return url_; }
  bool is_kept() const { return !placement_ || placement_->is_kept(); }
  // A placed one that has to be loaded before a run.
  bool is_new() const { return placement_ && placement_->is_new(); }
  void reclaim();  // after a drop
  const DeviceStack& stack() const { return stack_; }
  // Database, server and what is doubtful about them into the record.
  void describe(Record& record);

 private:
  std::unique_ptr<Placement> placement_;
  std::unique_ptr<Database> opened_;
  Database* database_ = nullptr;
  std::string url_;
  DeviceStack stack_;
};

}  // namespace plimsoll::cli
