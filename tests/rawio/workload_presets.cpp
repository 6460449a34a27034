// Presets: rows that run as they are.
#include <algorithm>
#include <set>

#include "rawio/workload/presets.h"
#include "results/base/error.h"
#include "results/base/units.h"
#include "tests/catch.h"

using namespace plimsoll;

TEST_CASE("every preset runs on drives of both sector sizes, by every engine") {
  for (const auto& preset : presets()) {
    for (const std::uint32_t sector : {512u, 4096u}) {
      for (const std::string engine : {"psync", "null"}) {
        INFO(preset.name << ", sectors of " << sector << ", " << engine);
        IoWorkload workload;
        workload.engine = engine;
        workload.runtime_ns = 1;
        workload.streams = make_preset(preset.name, kMiB, 1024 * kMiB, engine, sector);
        CHECK(workload.streams.size() == preset.streams.size());
        CHECK(workload.changes() == preset_changes(preset.name));
        CHECK_NOTHROW(check_workload(workload, {{"/dev/sdx", 1025 * kMiB, sector, true}}));
      }
    }
  }
}

TEST_CASE("a preset's log and pages don't overlap, and fill the span") {
  const auto streams = make_preset("postgresql", kMiB, 1024 * kMiB, "null");
  REQUIRE(streams.size() == 3);
  const auto& log = streams.front();
  CHECK(log.span_offset_bytes == kMiB);
  for (std::size_t i = 1; i < streams.size(); ++i) {
    CHECK(streams[i].span_offset_bytes == log.span_offset_bytes + log.span_bytes);
    CHECK(streams[i].span_offset_bytes + streams[i].span_bytes == 1025 * kMiB);
  }
  const auto alone = make_preset("postgresql-wal", 0, kMiB, "null");
  CHECK(alone.front().span_bytes == kMiB);
}

TEST_CASE("every stream of the table is in a preset, and no name stands twice") {
  std::set<std::string> used;
  std::set<std::string_view> names;
  for (const auto& preset : presets()) {
    CHECK(names.insert(preset.name).second);
    used.insert(preset.streams.begin(), preset.streams.end());
  }
  CHECK(used.size() == preset_streams().size());
  for (const auto& row : preset_streams()) CHECK(used.count(row.stream.name) == 1);
}

TEST_CASE("the presets hold what the databases do") {
  const auto of = [](const char* name) {
    return make_preset(name, 0, 1024 * kMiB, "io_uring").front();
  };
  CHECK(of("innodb-redo").fsync_every == 1);
  CHECK(of("innodb-redo").largest_block_bytes() == 8192);
  CHECK(of("innodb-page-read").largest_block_bytes() == 16384);
  CHECK(of("postgresql-wal").fdatasync_every == 1);
  CHECK(of("postgresql-page-read").largest_block_bytes() == 8192);
  CHECK(of("sqlserver-log").largest_block_bytes() == 60 * 1024);
  CHECK(of("sqlserver-log").write_sync == WriteSync::kEach);
  CHECK(of("sqlserver-lazy-writer").largest_block_bytes() == 256 * 1024);
  CHECK(of("sqlserver-backup").largest_block_bytes() == 4 << 20);
}

TEST_CASE("a preset that isn't there, or doesn't fit, is wrong usage") {
  CHECK_THROWS_WITH(make_preset("oracle", 0, kMiB, "null"), ContainsSubstring("innodb-redo"));
  CHECK_THROWS_WITH(make_preset("innodb", 0, 4 * kMiB, "null"), ContainsSubstring("at least"));
}
