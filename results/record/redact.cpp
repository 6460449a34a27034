#include "results/record/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace plimsoll {
namespace {

constexpr std::string_view kMask = "***";

struct Span {
  std::size_t begin;
  std::size_t end;
};

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}
bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

// The password of a URL's user:password@. A password may hold '@', '/' and '?' (typed without
// encoding), so it ends at the last '@' there is.
std::optional<Span> userinfo_password(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return std::nullopt;
  const std::size_t colon = text.find(':', scheme + 3);
  const std::size_t at = text.rfind('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at <= colon) {
    return std::nullopt;
  }
  return Span{colon + 1, at};
}

// Where a value ends that is neither quoted nor in braces: at the separator of the kind of string
// it stands in. An ODBC string and a URL's query have their own; a libpq string has spaces, and a
// backslash before a space that belongs to the value.
char separator_of(const std::string& lowered_text) {
  for (const std::string_view odbc : {"driver=", "dsn=", "uid=", "server="}) {
    if (lowered_text.find(odbc) != std::string::npos) return ';';
  }
  if (lowered_text.starts_with("sqlserver:")) return ';';
  return lowered_text.find("://") != std::string::npos ? '&' : ' ';
}

// One that goes on as "key=" follows; another is taken for a part of the value.
bool key_follows(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  const std::size_t begin = at;
  while (at < text.size() && (is_word(text[at]) || text[at] == ' ')) ++at;
  if (at == begin) return at == text.size();  // nothing but the separator
  return at < text.size() && text[at] == '=';
}

std::size_t end_of_quoted(std::string_view text, std::size_t begin) {
  const char close = text[begin] == '{' ? '}' : text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && close != '}') {
      ++i;
    } else if (text[i] == close) {
      if (i + 1 == text.size() || text[i + 1] != close) return i + 1;
      ++i;  // doubled: the character itself
    }
  }
  return text.size();
}

std::size_t end_of_value(std::string_view text, std::size_t begin, char separator) {
  if (begin < text.size() && (text[begin] == '{' || text[begin] == '\'' || text[begin] == '"')) {
    return end_of_quoted(text, begin);
  }
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '\\' && separator == ' ') {
      ++i;
    } else if (text[i] == separator && key_follows(text, i + 1)) {
      return i;
    }
  }
  return text.size();
}

// The next value whose key ends in a word for a password, from `from` on.
std::optional<Span> keyed_password(std::string_view text, const std::string& low,
                                   std::size_t from) {
  static constexpr std::array<std::string_view, 5> kKeys = {"password", "passwd", "pwd",
                                                            "passphrase", "secret"};
  std::optional<Span> first;
  for (const std::string_view key : kKeys) {
    for (std::size_t at = low.find(key, from); at != std::string::npos;
         at = low.find(key, at + 1)) {
      std::size_t value = at + key.size();
      while (value < low.size() && low[value] == ' ') ++value;
      if (value == low.size() || low[value] != '=') continue;
      ++value;
      while (value < low.size() && low[value] == ' ') ++value;
      if (!first || value < first->begin) {
        first = Span{value, end_of_value(text, value, separator_of(low))};
      }
      break;
    }
  }
  return first;
}

std::string mask_keyed(std::string_view text) {
  const std::string low = lowered(text);
  std::string result;
  std::size_t from = 0;
  while (const auto span = keyed_password(text, low, from)) {
    result.append(text.substr(from, span->begin - from));
    if (span->end > span->begin) result.append(kMask);
    from = span->end;
  }
  return result.append(text.substr(from));
}

}  // namespace

std::string redact(std::string_view text) {
  const auto span = userinfo_password(text);
  if (!span) return mask_keyed(text);
  std::string masked(text.substr(0, span->begin));
  return mask_keyed(masked.append(kMask).append(text.substr(span->end)));
}

std::vector<std::string> redact_argv(const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  bool is_password = false;
  for (const std::string& argument : arguments) {
    result.push_back(is_password ? std::string(kMask) : redact(argument));
    is_password = argument.starts_with("--") && lowered(argument).ends_with("password");
  }
  return result;
}

}  // namespace plimsoll
