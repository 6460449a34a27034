#include "results/report/text_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "results/base/units.h"

namespace plimsoll {

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string inked(const std::string& text, Ink ink, const TextStyle& style) {
  if (!style.colour || ink == Ink::kPlain || text.empty()) return text;
  constexpr const char* kCodes[] = {"", "1", "2", "1;32", "1;33", "1;31"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<int>(ink)], text);
}

namespace {

// Words, but a figure and its unit together: "12.1 ms" is never broken over two lines.
std::vector<std::string> unbroken_words(const std::string& text) {
  constexpr std::string_view kUnits = " ns us ms s m h B KiB MiB GiB TiB K M G T % TPS IOPS ";
  const auto is_unit = [&](const std::string& word) {
    const auto bare = word.substr(0, word.find_last_not_of(",;.:)") + 1);
    return kUnits.find(" " + bare + " ") != std::string_view::npos;
  };
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    const bool after_figure =
        !words.empty() && std::isdigit(static_cast<unsigned char>(words.back().front())) != 0;
    if (after_figure && is_unit(word)) {
      words.back() += " " + word;
    } else {
      words.push_back(word);
    }
  }
  return words;
}

}  // namespace

std::string labelled(const std::string& label, const std::string& text, std::size_t indent) {
  std::string result;
  std::string line = label;
  line.resize(std::max(indent, label.size() + 1), ' ');
  bool is_fresh = true;
  for (const auto& word : unbroken_words(text)) {
    if (!is_fresh && display_width(line) + 1 + display_width(word) > kTextColumns) {
      result += line + '\n';
      line.assign(indent, ' ');
      is_fresh = true;
    }
    line += (is_fresh ? "" : " ") + word;
    is_fresh = false;
  }
  return result + line + '\n';
}

std::string TextTable::str(const TextStyle& style, std::size_t indent) const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - display_width(row[i]), ' ');
      line += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += inked(line, &row == &rows_.front() ? Ink::kDim : Ink::kPlain, style) + '\n';
  }
  return result;
}

std::string duration_cell(const Json& value_ns) {
  return value_ns.is_number() ? format_duration(std::llround(value_ns.get<double>())) : "-";
}

std::string count_cell(const Json& value) {
  return value.is_number() ? format_count(value.get<double>()) : "-";
}

std::string mib_cell(const Json& bytes_per_s) {
  return bytes_per_s.is_number() ? format_count(bytes_per_s.get<double>() / (1 << 20)) : "-";
}

std::string text_of(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Json get(const Json& object, const std::string& key) {
  return object.is_object() && object.contains(key) ? object[key] : Json();
}

void add_latency_cells(std::vector<std::string>& cells, const Json& latency) {
  for (const auto* key : {"mean", "p50", "p99", "p999", "max"}) {
    cells.push_back(duration_cell(get(latency, key)));
  }
}

}  // namespace plimsoll
