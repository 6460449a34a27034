// Where a run of the program works: a drive, and its results on another (in memory).
#pragma once

#include <filesystem>
#include <string>

#include "tests/lab/block_devices.h"
#include "tests/lab/temp_dir.h"

struct Folders {
  plimsoll::lab::TempDir drive;
  plimsoll::lab::DeviceDir results;
  std::string out() const { return (results.path() / "run").string(); }
  bool drive_is_empty() const { return std::filesystem::is_empty(drive.path()); }
};
