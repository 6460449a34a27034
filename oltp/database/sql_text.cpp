#include "oltp/database/sql_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "results/base/error.h"

namespace plimsoll {
namespace {

// The end of the quoted text or comment that begins at `at`; `at` itself when none does.
std::size_t skip_quoted(std::string_view sql, std::size_t at) {
  const char c = sql[at];
  if (c == '\'' || c == '"' || c == '`') {
    const auto end = sql.find(c, at + 1);  // a doubled quote is two texts side by side
    return end == std::string_view::npos ? sql.size() : end + 1;
  }
  const auto ends = [&](std::string_view mark) {
    const auto end = sql.find(mark, at + 2);
    return end == std::string_view::npos ? sql.size() : end + mark.size();
  };
  if (sql.substr(at, 2) == "--") return ends("\n");
  if (sql.substr(at, 2) == "/*") return ends("*/");
  return at;
}

bool blank(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isspace(c) != 0; });
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool coded = text[i] == '%' && i + 2 < text.size() &&
                       std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
                           text.data() + i + 3;
    out += coded ? static_cast<char>(value) : text[i];
    if (coded) i += 2;
  }
  return out;
}

// Cuts `text` before the first (or last) `mark` and returns what came after; npos: nothing.
std::string_view cut_after(std::string_view& text, std::size_t mark) {
  if (mark == std::string_view::npos) return {};
  const auto rest = text.substr(mark + 1);
  text = text.substr(0, mark);
  return rest;
}

void parse_host(std::string_view text, ConnectionUrl& url) {
  const bool bracketed = text.starts_with('[');
  const auto colon = text.find(':', bracketed ? text.find(']') : 0);
  const auto port = cut_after(text, colon);
  if (bracketed && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  url.host = percent_decoded(text);
  if (port.empty()) return;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc{} || end != port.data() + port.size() || url.port > 65535)
    throw UsageError(fmt::format("'{}' is no port; give 1 to 65535", port));
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\0':
        out += "\\0";
        break;
      default:
        out += c;
    }
  }
}

template <typename Number>
void append_number(std::string& out, Number value) {
  std::array<char, 32> text;
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

}  // namespace

std::string numbered_parameters(std::string_view sql) {
  std::string out;
  int number = 0;
  for (std::size_t i = 0; i < sql.size();) {
    const auto end = skip_quoted(sql, i);
    if (end > i) {
      out += sql.substr(i, end - i);
      i = end;
    } else if (sql[i++] == '?') {
      out += fmt::format("${}", ++number);
    } else {
      out += sql[i - 1];
    }
  }
  return out;
}

std::vector<std::string> split_statements(std::string_view script) {
  std::vector<std::string> statements;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= script.size();) {
    const auto end = i < script.size() ? skip_quoted(script, i) : i;
    if (end > i) {
      i = end;
      continue;
    }
    if (i == script.size() || script[i] == ';') {
      const auto statement = script.substr(start, i - start);
      if (!blank(statement)) statements.emplace_back(statement);
      start = i + 1;
    }
    ++i;
  }
  return statements;
}

bool only_reads(std::string_view sql) {
  const auto first = std::ranges::find_if(sql, [](unsigned char c) { return std::isalpha(c); });
  const auto last =
      std::find_if(first, sql.end(), [](unsigned char c) { return !std::isalpha(c); });
  std::string word(first, last);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
  return word == "SELECT" || word == "SHOW" || word == "VALUES";
}

DbView decimal_value(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc{} && read.ptr == end)
    return whole;
  double real = 0;
  if (const auto read = std::from_chars(text.data(), end, real);
      read.ec == std::errc{} && read.ptr == end)
    return real;
  return text;
}

std::string text_of(const DbView& value) {
  std::string text;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) append_number(text, *integer);
  if (const auto* real = std::get_if<double>(&value)) append_number(text, *real);
  if (const auto* held = std::get_if<std::string_view>(&value)) text = *held;
  return text;
}

void append_delimited_row(std::string& out, std::span<const DbView> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += '\t';
    if (const auto* integer = std::get_if<std::int64_t>(&values[i])) {
      append_number(out, *integer);
    } else if (const auto* real = std::get_if<double>(&values[i])) {
      append_number(out, *real);
    } else if (const auto* text = std::get_if<std::string_view>(&values[i])) {
      append_escaped(out, *text);
    } else {
      out += "\\N";
    }
  }
  out += '\n';
}

ConnectionUrl parse_connection_url(std::string_view text) {
  ConnectionUrl url;
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos) {
    throw UsageError(fmt::format("a URL like {}://USER@HOST/DATABASE is needed",
                                 text.substr(0, text.find(':'))));
  }
  text.remove_prefix(scheme + 3);
  auto settings = cut_after(text, text.find('?'));
  url.database = percent_decoded(cut_after(text, text.rfind('/')));
  bool has_password = false;
  // An '@' of the password that wasn't encoded is forgiven: hosts have none.
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    auto user = text.substr(0, at);
    has_password = user.find(':') != std::string_view::npos;
    url.password = percent_decoded(cut_after(user, user.find(':')));
    url.user = percent_decoded(user);
    text.remove_prefix(at + 1);
  }
  parse_host(text, url);
  while (!settings.empty()) {
    auto setting = settings;
    settings = cut_after(setting, setting.find('&'));
    const auto value = cut_after(setting, setting.find('='));
    url.settings[percent_decoded(setting)] = percent_decoded(value);
  }
  if (!has_password) url.password = password_of_environment();
  return url;
}

std::string password_of_environment() {
  const char* password = std::getenv("PLIMSOLL_DB_PASSWORD");
  return password != nullptr ? password : "";
}

}  // namespace plimsoll
