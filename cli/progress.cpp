#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "cli/command.h"
#include "cli/progress_line.h"
#include "results/base/units.h"
#include "results/measure/clock.h"

namespace plimsoll::cli {
namespace {

constexpr int kBarCells = 20;
constexpr int kLeastBarCells = 5;
constexpr std::int64_t kPlainEvery_ns = 10 * kSecond_ns;

// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string cut_to(std::string text, int columns) {
  while (columns_of(text) > static_cast<std::size_t>(columns)) {
    while ((static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
    text.pop_back();
  }
  return text;
}

std::string left_text(std::int64_t left_ns) {
  const std::int64_t seconds = (left_ns + kSecond_ns / 2) / kSecond_ns;
  if (seconds >= 3600) {
    return fmt::format("{}:{:02}:{:02} left", seconds / 3600, seconds / 60 % 60, seconds % 60);
  }
  return fmt::format("{}:{:02} left", seconds / 60, seconds % 60);
}

std::string bar(double fraction, int cells, bool unicode) {
  const int filled = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * cells));
  std::string text;
  for (int cell = 0; cell < cells; ++cell) {
    text += cell < filled ? (unicode ? "█" : "#") : (unicode ? "░" : "-");
  }
  return text;
}

std::string figures(const Progress& progress) {
  std::string text;
  if (progress.fraction >= 0) {
    text += fmt::format("  {:3.0f} %", std::floor(std::min(progress.fraction, 1.0) * 100));
  }
  if (progress.rate_per_s >= 0) {
    text += fmt::format("  {} {}", format_count(progress.rate_per_s), progress.unit);
  }
  if (progress.p99_ns >= 0) text += "  p99 " + format_duration(progress.p99_ns);
  if (progress.left_ns >= 0) text += "  " + left_text(progress.left_ns);
  if (!progress.note.empty()) text += "  " + progress.note;
  return text;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string text = value;
    return text.find("UTF-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

bool draws_bars() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string(terminal) != "dumb";
}

int terminal_columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return std::min<int>(known ? size.ws_col : 80, 80);
}

class Bar {
 public:
  ~Bar() {
    if (drawn_) fmt::print(stderr, "\n");
  }
  void show(const Progress& progress) {
    if (drawn_ && progress.phase != phase_) fmt::print(stderr, "\n");
    phase_ = progress.phase;
    drawn_ = true;
    const BarStyle style{unicode_, terminal_columns()};
    fmt::print(stderr, "\r{}\x1b[K", bar_line(progress, style));
    std::fflush(stderr);
  }

 private:
  bool unicode_ = locale_is_utf8();
  bool drawn_ = false;
  std::string phase_;
};

// The first line of a phase is said at once.
class Lines {
 public:
  void show(const Progress& progress) {
    const std::int64_t now_ns = SystemClock::instance().now_ns();
    if (said_ && progress.phase == phase_ && now_ns - last_ns_ < kPlainEvery_ns) return;
    said_ = true;
    phase_ = progress.phase;
    last_ns_ = now_ns;
    fmt::print(stderr, "{}\n", plain_line(progress));
  }

 private:
  bool said_ = false;
  std::string phase_;
  std::int64_t last_ns_ = 0;
};

template <typename Shown>
ProgressSink sink_to() {
  return [shown = std::make_shared<Shown>()](const Progress& progress) { shown->show(progress); };
}

}  // namespace

std::string bar_line(const Progress& progress, const BarStyle& style) {
  const std::string end = figures(progress);
  const int taken = static_cast<int>(columns_of(progress.phase + "  " + end));
  const int cells = std::min(kBarCells, style.columns - taken);
  if (progress.fraction < 0 || cells < kLeastBarCells) {
    return cut_to(progress.phase + end, style.columns);
  }
  return progress.phase + "  " + bar(progress.fraction, cells, style.unicode) + end;
}

std::string plain_line(const Progress& progress) {
  return progress.phase + figures(progress);
}

ProgressSink make_progress(const CommonOptions& options) {
  if (options.quiet) return [](const Progress&) {};
  return draws_bars() ? sink_to<Bar>() : sink_to<Lines>();
}

}  // namespace plimsoll::cli
