#include "rawio/device/health.h"

#include <unistd.h>

#include <array>
#include <iostream>

#include "rawio/device/health_change.h"
#include "rawio/device/inventory.h"
#include "tests/catch.h"
#include "tests/lab/block_devices.h"

using namespace plimsoll;

namespace {

using SmartLog = std::array<std::byte, 512>;

void put(SmartLog& log, std::size_t at, std::size_t bytes, std::uint64_t value) {
  for (std::size_t index = 0; index < bytes; ++index) {
    log[at + index] = static_cast<std::byte>(value >> (8 * index) & 0xff);
  }
}

BlockDevice drive_of(std::uint64_t size_bytes, const std::string& transport, bool rotational) {
  BlockDevice drive;
  drive.size_bytes = size_bytes;
  drive.transport = transport;
  drive.rotational = rotational;
  return drive;
}

}  // namespace

TEST_CASE("NVMe's SMART log is read at the offsets of its specification") {
  SmartLog log{};
  put(log, 1, 2, 273 + 41);
  put(log, 3, 1, 98);
  put(log, 5, 1, 2);
  put(log, 32, 8, 10);
  put(log, 48, 8, 24'000'000);
  put(log, 128, 8, 5000);
  put(log, 144, 8, 3);
  put(log, 160, 8, 7);
  put(log, 192, 4, 11);
  put(log, 216, 4, 1000);  // counts of throttling, which aren't its time
  put(log, 224, 4, 60);
  put(log, 228, 4, 5);
  const auto health = parse_nvme_smart(log);
  CHECK(health.failing == false);
  CHECK(health.temperature_c == 41);
  CHECK(health.spare_pct == 98);
  CHECK(health.used_pct == 2);
  CHECK(health.read_bytes == 5'120'000u);
  CHECK(health.written_bytes == 12'288'000'000'000u);
  CHECK(health.power_on_hours == 5000u);
  CHECK(health.unsafe_shutdowns == 3u);
  CHECK(health.media_errors == 7u);
  CHECK(health.hot_minutes == 11u);
  CHECK(health.throttled_seconds == 65u);
  CHECK(describe(health) ==
        "2 % of endurance used, 41 C, 12.3 TB written, 7 media errors, 65 s throttled");
  put(log, 0, 1, 4);
  CHECK(parse_nvme_smart(log).failing == true);
}

TEST_CASE("smartctl's JSON gives what the drive told, and null for the rest") {
  const auto health = parse_smartctl(R"({
    "logical_block_size": 4096, "smart_status": {"passed": true}, "temperature": {"current": 30},
    "power_on_time": {"hours": 100},
    "ata_device_statistics": {"pages": [
      {"number": 1, "table": [{"name": "Logical Sectors Written", "value": 1000}]},
      {"number": 7, "table": [{"name": "Percentage Used Endurance Indicator", "value": 3}]}]}})");
  CHECK(health.source == "smartctl");
  CHECK(health.failing == false);
  CHECK(health.temperature_c == 30);
  CHECK(health.written_bytes == 4'096'000u);
  CHECK(health.used_pct == 3);
  CHECK_FALSE(health.read_bytes.has_value());
  CHECK(to_json(health)["media_errors"].is_null());
}

TEST_CASE("what the drive itself wrote is known from the OCP's log and from vendors' attributes") {
  SmartLog log{};
  put(log, 0, 8, 123'456'789);
  CHECK_FALSE(parse_ocp_media_written(log).has_value());  // another vendor's page C0h
  const std::uint8_t guid[] = {0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4,
                               0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf};
  for (std::size_t i = 0; i < 16; ++i) put(log, 496 + i, 1, guid[i]);
  CHECK(parse_ocp_media_written(log) == 123'456'789u);
  const auto health = parse_smartctl(R"({
    "smart_status": {"passed": true},
    "ata_smart_attributes": {"table": [
      {"id": 5, "name": "Reallocated_Sector_Ct", "raw": {"value": 0}},
      {"id": 249, "name": "NAND_Writes_1GiB", "raw": {"value": 3}}]}})");
  CHECK(health.media_written_bytes == 3ull << 30);
}

TEST_CASE("a run's change of health is after minus before, where both are told") {
  DriveHealth before;
  DriveHealth after;
  before.source = after.source = "NVMe SMART log";
  before.written_bytes = 1ull << 40;
  after.written_bytes = (1ull << 40) + (4ull << 30);
  before.media_written_bytes = 0;
  after.media_written_bytes = 6ull << 30;
  before.media_errors = 2;
  after.media_errors = 5;
  before.read_bytes = 100;
  after.read_bytes = 50;  // another drive in its place
  const auto change = health_change(before, after);
  CHECK(change.host_written_bytes == 4ull << 30);
  CHECK(change.media_written_bytes == 6ull << 30);
  CHECK(*change.write_amplification == Approx(1.5));
  CHECK_FALSE(change.host_read_bytes.has_value());
  CHECK(concerns(change) == "new media errors: 3");
  after.written_bytes = (1ull << 40) + 4096;
  CHECK_FALSE(health_change(before, after).write_amplification.has_value());
  CHECK(to_json(health_change(before, {}))["host_written_bytes"].is_null());
  CHECK(concerns(health_change(before, before)).empty());
}

TEST_CASE("smartctl's refusal is given in its own words") {
  const auto health = parse_smartctl(
      R"({"smartctl": {"messages": [{"string": "Unknown USB bridge", "severity": "error"}]}})");
  CHECK_FALSE(health.known());
  CHECK(describe(health) == "unknown: Unknown USB bridge");
  CHECK_FALSE(parse_smartctl("Segmentation fault").known());
}

TEST_CASE("the flash kept from the user is guessed for drives of flash only") {
  CHECK(*spare_flash_hint_pct(drive_of(1'920'383'410'176, "nvme", false)) ==
        Approx(14.5).epsilon(0.01));
  CHECK(*spare_flash_hint_pct(drive_of(1'600'321'314'816, "sata", false)) ==
        Approx(37.4).epsilon(0.01));
  CHECK_FALSE(spare_flash_hint_pct(drive_of(1'920'383'410'176, "sata", true)).has_value());
  CHECK_FALSE(spare_flash_hint_pct(drive_of(1'920'383'410'176, "virtio", false)).has_value());
}

TEST_CASE("the inventory holds each device with the reason not to erase it") {
  auto loop = lab::make<lab::LoopDevice>(lab::LoopOptions{.read_only = true});
  if (!loop) return;
  const auto items = take_inventory("");
  bool found = false;
  for (const auto& item : items) {
    if (item.device().name != loop->name()) continue;
    found = true;
    CHECK(item.erasable() == InventoryItem::Erasable::kNo);
    CHECK(item.refusals[0].reason == RefusalReason::kReadOnly);
    CHECK_FALSE(item.health.has_value());
  }
  CHECK(found);
}
