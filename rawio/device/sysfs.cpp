#include "rawio/device/sysfs.h"

#include <sys/sysmacros.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace plimsoll {

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) return {};
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank(" \t\n\r\0", 5);
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::string> read_line(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (!text) return {};
  const auto line = trimmed(std::string_view(*text).substr(0, text->find('\n')));
  if (line.empty()) return {};
  return std::string(line);
}

std::vector<std::string> split_words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

std::optional<bool> read_flag(const std::filesystem::path& path) {
  const auto value = read_number<int>(path);
  if (!value) return {};
  return *value != 0;
}

std::optional<dev_t> parse_device_number(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto major_number = parse_number<unsigned>(text.substr(0, colon));
  const auto minor_number = parse_number<unsigned>(text.substr(colon + 1));
  if (!major_number || !minor_number) return {};
  return makedev(*major_number, *minor_number);
}

}  // namespace plimsoll
