// Reading the kernel's text files. Missing is empty, never 0.
#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Where the kernel's trees are; tests move them to trees of their own.
struct SystemRoots {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path dev = "/dev";
};

// The whole file; nothing when it can't be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

// The first line without blanks around it; nothing when it can't be read or is empty.
std::optional<std::string> read_line(const std::filesystem::path& path);

std::string_view trimmed(std::string_view text);
std::vector<std::string> split_words(std::string_view text);

// The whole text as one number in the C locale.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

template <typename Number>
std::optional<Number> read_number(const std::filesystem::path& path) {
  const auto line = read_line(path);
  return line ? parse_number<Number>(*line) : std::nullopt;
}

// "0" and "1".
std::optional<bool> read_flag(const std::filesystem::path& path);

// "259:3" as in `dev` files and mountinfo.
std::optional<dev_t> parse_device_number(std::string_view text);

}  // namespace plimsoll
