#include <fmt/format.h>

#include <algorithm>

#include "results/report/page_assets.h"
#include "results/report/page_data.h"
#include "results/report/report.h"

namespace plimsoll {

namespace {

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

// "<" in a script element could end it (</script>) or open a comment; \u003c is the same JSON.
// Text of a database or a path may hold bytes that are not UTF-8; they are replaced, not fatal.
std::string embeddable(const Json& data) {
  const auto text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (const char letter : text) {
    if (letter == '<') {
      result += "\\u003c";
    } else {
      result += letter;
    }
  }
  return result;
}

struct Place {
  std::string_view name;
  std::string text;
};

// Replaces each @NAME@ once, from left to right, so that no text put in is looked at again.
std::string filled(std::string_view page, const std::vector<Place>& places) {
  std::string result;
  while (!page.empty()) {
    const auto open = page.find('@');
    result += page.substr(0, open);
    if (open == std::string_view::npos) break;
    page.remove_prefix(open + 1);
    const auto name = page.substr(0, page.find('@'));
    const auto place = std::find_if(places.begin(), places.end(),
                                    [&](const Place& one) { return one.name == name; });
    if (place == places.end()) {
      result += '@';
      continue;
    }
    result += place->text;
    page.remove_prefix(name.size() + 1);
  }
  return result;
}

}  // namespace

std::string render_html(const Record& record) {
  const auto spec = record.spec();
  return filled(page::kTemplate,
                {{"TITLE", html_escaped(fmt::format("Plimsoll {} {}", spec.command, spec.target))},
                 {"LIBRARY_STYLE", std::string(page::kLibraryStyle)},
                 {"STYLE", std::string(page::kStyle)},
                 {"DATA", embeddable(page_data(record))},
                 {"LIBRARY_LICENCE", std::string(page::kLibraryLicence)},
                 {"LIBRARY", std::string(page::kLibrary)},
                 {"SCRIPT", std::string(page::kScript)}});
}

}  // namespace plimsoll
