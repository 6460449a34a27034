// How progress looks, apart from where it goes.
#pragma once

#include <string>

#include "results/base/progress.h"

namespace plimsoll::cli {

struct BarStyle {
  bool unicode = true;
  int columns = 80;  // the line is never longer
};

// "raw  random read  ██████░░░░  71 %   512 K IOPS  p99 118 us   0:20 left". What isn't known is
// left out; what doesn't fit shortens the bar first, then loses it, then its end.
std::string bar_line(const Progress& progress, const BarStyle& style);

// The same without a bar, for a log.
std::string plain_line(const Progress& progress);

}  // namespace plimsoll::cli
