#include "results/report/shell_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace plimsoll {

namespace {

bool is_safe(char letter) {
  constexpr std::string_view kSafe = "-_./:=,+@%";
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         kSafe.find(letter) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_safe)) return word;
  std::string result = "'";
  for (const char letter : word) result += letter == '\'' ? "'\\''" : std::string(1, letter);
  return result + "'";
}

}  // namespace

std::string shell_words(const std::vector<std::string>& argv) {
  std::string result;
  for (const auto& word : argv) result += (result.empty() ? "" : " ") + quoted(word);
  return result;
}

}  // namespace plimsoll
