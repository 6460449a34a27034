#include "oltp/database/sqlite_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string_view>
#include <vector>

#include "results/base/error.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

void set_synchronous(SqliteOptions& options, std::string_view text) {
  static constexpr std::array<std::string_view, 4> kLevels = {"off", "normal", "full", "extra"};
  if (std::ranges::find(kLevels, text) == kLevels.end()) {
    throw UsageError(
        fmt::format("synchronous={} is not a level; give off, normal, full or extra", text));
  }
  options.synchronous = text;
}

void set_page_bytes(SqliteOptions& options, std::string_view text) {
  options.page_bytes = parse_size_bytes(text);
  if (!std::has_single_bit(options.page_bytes) || options.page_bytes < 512 ||
      options.page_bytes > 65536) {
    throw UsageError(
        fmt::format("page_size={} is not possible; give a power of two from 512 to 64KiB", text));
  }
}

void set_autocheckpoint(SqliteOptions& options, std::string_view text) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), options.wal_autocheckpoint_pages);
  if (error != std::errc() || end != text.data() + text.size() ||
      options.wal_autocheckpoint_pages > INT32_MAX) {
    throw UsageError(
        fmt::format("wal_autocheckpoint={} is not a number of pages; give one such as 1000", text));
  }
}

void set_cache(SqliteOptions& options, std::string_view text) {
  options.cache_bytes = parse_size_bytes(text);
  if (options.cache_bytes > (1ULL << 40)) {
    throw UsageError(fmt::format("cache={} is more than 1 TiB; give less", text));
  }
}

struct SqliteUrlSetting {
  std::string_view name;
  void (*set)(SqliteOptions& options, std::string_view text);
};

const std::array<SqliteUrlSetting, 6> kSqliteUrlSettings = {{
    {"cache", set_cache},
    {"synchronous", set_synchronous},
    {"page_size", set_page_bytes},
    {"wal_autocheckpoint", set_autocheckpoint},
    {"mmap",
     [](SqliteOptions& o, std::string_view text) { o.mmap_bytes = parse_size_bytes(text); }},
    {"busy", [](SqliteOptions& o, std::string_view text) { o.busy_ns = parse_duration_ns(text); }},
}};

void set(SqliteOptions& options, std::string_view pair) {
  const std::size_t equals = pair.find('=');
  const auto setting =
      std::ranges::find(kSqliteUrlSettings, pair.substr(0, equals), &SqliteUrlSetting::name);
  if (setting == kSqliteUrlSettings.end() || equals == std::string_view::npos) {
    std::string names;
    for (const SqliteUrlSetting& known : kSqliteUrlSettings) {
      names += (names.empty() ? "" : ", ") + std::string(known.name);
    }
    throw UsageError(
        fmt::format("'{}' is not a setting of sqlite:; there are {}, as in "
                    "sqlite:PATH?cache=64MiB (end a path that holds '?' with '?')",
                    pair, names));
  }
  setting->set(options, pair.substr(equals + 1));
}

}  // namespace

SqliteOptions parse_sqlite_url(const std::string& url) {
  std::string_view rest = std::string_view(url).substr(url.find(':') + 1);
  std::string_view settings;
  if (const std::size_t mark = rest.rfind('?'); mark != std::string_view::npos) {
    settings = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (rest.empty()) throw UsageError("sqlite: needs the path of a file, as in sqlite:/mnt/d/my.db");
  SqliteOptions options;
  options.path = rest;
  while (!settings.empty()) {
    const std::size_t end = std::min(settings.find('&'), settings.size());
    set(options, settings.substr(0, end));
    settings.remove_prefix(std::min(end + 1, settings.size()));
  }
  return options;
}

}  // namespace plimsoll
