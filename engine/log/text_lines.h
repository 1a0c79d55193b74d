// Lines and words of Kafka's small text files. Views into the text; numbers must be all of their word.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace tailrace::log {

// The next line of `text`, without its line break, which is taken off the front of `text`.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The next word of `line` and the blanks behind it.
inline std::string_view take_word(std::string_view& line) {
  const std::size_t end = line.find_first_of(" \t");
  const std::string_view word = line.substr(0, end);
  const std::size_t next = end == std::string_view::npos ? end : line.find_first_not_of(" \t", end);
  line.remove_prefix(next == std::string_view::npos ? line.size() : next);
  return word;
}

template <std::integral T>
std::optional<T> parse_number(std::string_view word) {
  T value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

}  // namespace tailrace::log
