// Which database `oltp` works on: one by URL, or one placed in a folder of the drive.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "oltp/database/database.h"
#include "rawio/device/identity.h"
#include "results/base/scratch.h"

namespace plimsoll::cli {

struct OltpPlaceOptions {
  std::string db;  // a URL; with `dir` an engine, with settings or not: "sqlite?cache=1g"
  std::filesystem::path dir;  // --place
  bool keep = false;
};

// A placed database that is kept is DIR/plimsoll-ENGINE.db, and is found there by the next call;
// one that isn't lies in a scratch folder and goes with this object. Scratch folders that a killed
// run left in DIR are removed.
class OltpPlace {
 public:
  // Throws UsageError and whatever opening the database throws.
  explicit OltpPlace(const OltpPlaceOptions& options);

  Database& database() { return *database_; }
  const std::string& url() const { return url_; }
  bool is_kept() const { return scratch_ == nullptr; }
  // A placed one that has to be loaded before a run.
  bool is_new() const { return is_new_; }
  const DeviceStack& stack() const { return stack_; }

 private:
  void place(const OltpPlaceOptions& options);

  std::unique_ptr<ScratchDir> scratch_;
  std::string url_;
  bool is_new_ = false;
  std::unique_ptr<Database> database_;
  DeviceStack stack_;
};

}  // namespace plimsoll::cli
