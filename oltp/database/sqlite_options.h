// The settings in a `sqlite:` URL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace plimsoll {

// Durable by default: the journal is a WAL and every commit is flushed.
struct SqliteOptions {
  std::filesystem::path path;
  std::string synchronous = "full";         // off, normal, full, extra
  std::uint64_t cache_bytes = 64ULL << 20;  // page cache of each session
  std::uint64_t page_bytes = 4096;          // takes effect when the file is made
  std::uint64_t wal_autocheckpoint_pages = 1000;
  std::uint64_t mmap_bytes = 0;
  std::int64_t busy_ns = 5'000'000'000;  // wait for another's write lock; then retryable
};

// `sqlite:PATH` or `sqlite:PATH?name=value&…`. Settings begin after the last question mark, so a
// path that holds one ends with a bare `?`. Throws UsageError naming the settings there are.
SqliteOptions parse_sqlite_url(const std::string& url);

}  // namespace plimsoll
