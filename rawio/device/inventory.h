// Every block device of the machine with what is on it, whether it may be erased, and its health.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "rawio/device/guard.h"
#include "rawio/device/health.h"
#include "rawio/device/identity.h"
#include "rawio/device/signatures.h"

namespace plimsoll {

struct InventoryItem {
  DeviceStack stack;                                 // the device itself is the first level
  std::vector<FileSystem> file_systems;              // mounted from it, not from its partitions
  std::optional<std::vector<Signature>> signatures;  // empty optional: couldn't be looked at
  std::vector<Refusal> refusals;                     // none: it may be erased with --erase
  std::optional<DriveHealth> health;                 // of physical drives only
  std::optional<double> spare_flash_hint_pct;
  const BlockDevice& device() const { return stack.levels.front(); }
  // What `--erase` needs: nothing more, the drive's name after it, or it can't be.
  enum class Erasable { kYes, kWhenNamed, kNo };
  Erasable erasable() const;
};

// Reads only. In the order of names, each disk before its partitions.
std::vector<InventoryItem> take_inventory(const std::filesystem::path& results_dir,
                                          const SystemRoots& roots = {});

// The device's own JSON, and file_systems, signatures, erasable ("yes", "when named", "no"),
// erase_name, refusals, health, spare_flash_hint_pct.
Json to_json(const InventoryItem& item);

}  // namespace plimsoll
