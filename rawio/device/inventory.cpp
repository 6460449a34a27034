#include "rawio/device/inventory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "rawio/device/json_optional.h"
#include "results/base/error.h"

namespace plimsoll {

namespace {

std::optional<std::vector<Signature>> signatures_of(const BlockDevice& device) {
  const int fd = open(device.node.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::optional<std::vector<Signature>> signatures;
  try {
    signatures = probe_signatures(fd);
  } catch (const RefusedError&) {
    // The refusals say it in words.
  }
  close(fd);
  return signatures;
}

InventoryItem take_item(const BlockDevice& device, const std::filesystem::path& results_dir,
                        const SystemRoots& roots) {
  InventoryItem item;
  item.stack = identify(device.number, roots);
  item.file_systems = mounted_file_systems(device.number, roots);
  item.signatures = signatures_of(device);
  item.refusals = find_refusals(item.stack, results_dir, roots);
  if (device.kind == LevelKind::kDrive) item.health = read_health(device);
  item.spare_flash_hint_pct = spare_flash_hint_pct(device);
  return item;
}

std::string_view erasable_name(InventoryItem::Erasable erasable) {
  switch (erasable) {
    case InventoryItem::Erasable::kYes:
      return "yes";
    case InventoryItem::Erasable::kWhenNamed:
      return "when named";
    case InventoryItem::Erasable::kNo:
      return "no";
  }
  return "no";
}

Json signatures_json(const InventoryItem& item) {
  if (!item.signatures) return nullptr;
  Json list = Json::array();
  for (const auto& signature : *item.signatures) {
    list.push_back({{"type", signature.type},
                    {"usage", signature.usage},
                    {"offset_bytes", or_null(signature.offset_bytes)}});
  }
  return list;
}

}  // namespace

InventoryItem::Erasable InventoryItem::erasable() const {
  if (refusals.empty()) return Erasable::kYes;
  const bool waivable = std::all_of(refusals.begin(), refusals.end(),
                                    [](const Refusal& refusal) { return refusal.waivable(); });
  return waivable ? Erasable::kWhenNamed : Erasable::kNo;
}

std::vector<InventoryItem> take_inventory(const std::filesystem::path& results_dir,
                                          const SystemRoots& roots) {
  std::vector<InventoryItem> items;
  for (const auto& device : all_block_devices(roots)) {
    items.push_back(take_item(device, results_dir, roots));
    // Gone between the listing and the look.
    if (items.back().stack.levels.empty()) items.pop_back();
  }
  return items;
}

Json to_json(const InventoryItem& item) {
  Json json = to_json(item.device());
  json["file_systems"] = Json::array();
  for (const auto& system : item.file_systems) json["file_systems"].push_back(to_json(system));
  json["signatures"] = signatures_json(item);
  json["erasable"] = erasable_name(item.erasable());
  json["erase_name"] = erase_names(item.stack).front();
  json["refusals"] = Json::array();
  for (const auto& refusal : item.refusals) json["refusals"].push_back(refusal.text);
  json["health"] = item.health ? to_json(*item.health) : Json(nullptr);
  json["spare_flash_hint_pct"] = or_null(item.spare_flash_hint_pct);
  return json;
}

}  // namespace plimsoll
