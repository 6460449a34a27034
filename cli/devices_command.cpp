#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>
#include <sstream>

#include "cli/command.h"
#include "rawio/device/inventory.h"
#include "results/base/version.h"

namespace plimsoll::cli {
namespace {

struct DevicesOptions {
  bool json = false;
};

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 20;  // where the text of a row under a device starts
constexpr const char* kDevicesExamples =
    "Examples:\n"
    "  plimsoll devices             what there is, and whether it may be erased\n"
    "  sudo plimsoll devices        the same with signatures and health\n"
    "  plimsoll devices --json      for programs";
constexpr const char* kNotRoot =
    "Seen without root: signatures, health, and files that others hold open stay unknown; "
    "sudo plimsoll devices shows them.";

// Words on lines of 80 columns; `head` stands at the start of the first, blanks before the others.
std::string wrap(const std::string& head, const std::string& text) {
  std::string lines;
  std::string line = fmt::format("{:<{}}", head, kIndent);
  std::size_t width = kIndent;
  bool first = true;
  std::istringstream words(text);
  for (std::string word; words >> word; first = false) {
    if (!first && width + 1 + word.size() > kColumns) {
      lines += line + "\n";
      line = std::string(kIndent, ' ');
      width = kIndent;
      first = true;
    }
    line += (first ? "" : " ") + word;
    width += word.size() + (first ? 0 : 1);
  }
  return lines + line + "\n";
}

std::string row(const std::string& name, const std::string& text) {
  return text.empty() ? "" : wrap("            " + name, text);
}

std::string contents(const InventoryItem& item) {
  std::vector<std::string> parts;
  for (const auto& system : item.file_systems) {
    parts.push_back(fmt::format("{} at {}", system.type, system.mount_point));
  }
  if (parts.empty() && item.signatures) {
    for (const auto& signature : *item.signatures) {
      parts.push_back(signature.type + (signature.usage == "partition table" ? " table" : ""));
    }
  }
  if (!parts.empty()) return fmt::format("{}", fmt::join(parts, ", "));
  return item.signatures ? "nothing recognised" : "unknown: can't be looked into";
}

std::string erasable(const InventoryItem& item) {
  using Erasable = InventoryItem::Erasable;
  if (item.erasable() == Erasable::kYes) return "yes, with --erase";
  std::vector<std::string> reasons;
  for (const auto& refusal : item.refusals) {
    if (item.erasable() == Erasable::kWhenNamed || !refusal.waivable()) {
      reasons.push_back("it " + refusal.text);
    }
  }
  return fmt::format("no: {}", fmt::join(reasons, "; "));
}

std::string identity(const BlockDevice& device) {
  std::vector<std::string> parts;
  if (device.firmware) parts.push_back("firmware " + *device.firmware);
  if (device.serial) parts.push_back("serial " + *device.serial);
  if (device.backing_file) parts.push_back("over " + *device.backing_file);
  if (device.mapper_name) parts.push_back(*device.mapper_name);
  if (device.kind == LevelKind::kDrive || device.kind == LevelKind::kLoop) {
    parts.push_back(fmt::format("sectors of {} B ({} B inside)", device.logical_sector_bytes,
                                device.physical_sector_bytes));
  }
  if (device.write_cache && device.kind != LevelKind::kPartition) {
    parts.push_back(*device.write_cache + " cache");
  }
  if (device.iostats == false) parts.push_back("statistics off");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string link(const PcieLink& pcie) {
  if (!pcie.speed_gt_s || !pcie.width) return "";
  std::string text = fmt::format("PCIe {:g} GT/s x{}", *pcie.speed_gt_s, *pcie.width);
  if (pcie.reduced() && pcie.max_speed_gt_s && pcie.max_width) {
    text += fmt::format(": LESS than the drive's {:g} GT/s x{}; try another slot",
                        *pcie.max_speed_gt_s, *pcie.max_width);
  }
  return text;
}

std::string spare(const InventoryItem& item) {
  if (!item.spare_flash_hint_pct) return "";
  return fmt::format("about {:.0f} % more flash than shown, by its capacity (a guess)",
                     *item.spare_flash_hint_pct);
}

std::string describe_item(const InventoryItem& item) {
  const auto& device = item.device();
  const auto kind = device.transport.value_or(std::string(level_kind_name(device.kind)));
  std::string text =
      fmt::format("{:<12}{:<10}{:<11}{}\n", device.name, format_capacity(device.size_bytes), kind,
                  device.model.value_or("-"));
  text += row("device", identity(device));
  text += row("link", link(device.pcie));
  text += row("spare", spare(item));
  text += row("holds", contents(item));
  text += row("erase", erasable(item));
  if (item.health) text += row("health", describe(*item.health));
  return text;
}

void print_text(const std::vector<InventoryItem>& items) {
  fmt::print("{:<12}{:<10}{:<11}{}\n", "DEVICE", "CAPACITY", "KIND", "MODEL");
  for (const auto& item : items) fmt::print("{}", describe_item(item));
  if (items.empty()) fmt::print("No block device is visible here.\n");
  if (geteuid() != 0) fmt::print("\n{}\n", kNotRoot);
}

void print_json(const std::vector<InventoryItem>& items) {
  Json devices = Json::array();
  for (const auto& item : items) devices.push_back(to_json(item));
  Json warnings = Json::array();
  if (geteuid() != 0) warnings.push_back({{"id", "facility-missing"}, {"text", kNotRoot}});
  const Json json = {
      {"command", "devices"}, {"version", version()}, {"devices", devices}, {"warnings", warnings}};
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

ExitCode list_devices(const DevicesOptions& options) {
  const auto items = take_inventory("results");
  options.json ? print_json(items) : print_text(items);
  return ExitCode::kDone;
}

}  // namespace

void setup_devices(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<DevicesOptions>();
  CLI::App* command = app.add_subcommand(
      "devices", "Drives, what is on them, whether they may be erased, their health");
  command->footer(kDevicesExamples);
  command->add_flag("--json", options->json, "One JSON object");
  command->callback(
      [options, &context] { context.run = [options] { return list_devices(*options); }; });
}

}  // namespace plimsoll::cli
