// Lines of at most 80 columns: tables, wrapped sentences, figures as people read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/record.h"
#include "results/report/report.h"

namespace plimsoll {

constexpr std::size_t kTextColumns = 80;

// Columns a terminal needs for UTF-8 text of narrow characters.
std::size_t display_width(std::string_view text);

enum class Ink { kPlain, kBold, kDim, kGood, kWarning, kBad };
std::string inked(const std::string& text, Ink ink, const TextStyle& style);

// `label` in the left margin, `text` wrapped beside it from column `indent` on; newline at the end.
// A word longer than the line (a path) stays whole.
std::string labelled(const std::string& label, const std::string& text, std::size_t indent = 9);

// First column left-aligned, the others right-aligned; widths fit the cells.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() == 1; }
  std::string str(const TextStyle& style, std::size_t indent = 2) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The field of an object, as text or as it is; empty, or null, where there is none.
std::string text_of(const Json& object, const std::string& key);
Json get(const Json& object, const std::string& key);

// "-" for null.
std::string duration_cell(const Json& value_ns);
std::string count_cell(const Json& value);
std::string mib_cell(const Json& bytes_per_s);
// Mean, p50, p99, p99.9 and maximum.
void add_latency_cells(std::vector<std::string>& cells, const Json& latency);

}  // namespace plimsoll
