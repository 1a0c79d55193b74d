#include "services/node/properties.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/core.h>

namespace tailrace::node {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
bool ends_line(char c) { return c == '\n' || c == '\r'; }

// Takes the next natural line off `text`, without its end.
std::string_view take_natural_line(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && !ends_line(text[end])) ++end;
  const std::string_view line = text.substr(0, end);
  std::size_t next = end;
  if (next < text.size()) next += text[next] == '\r' && next + 1 < text.size() && text[next + 1] == '\n' ? 2 : 1;
  text.remove_prefix(next);
  return line;
}

std::string_view without_leading_blanks(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  return line;
}

// A line goes on when it ends with an odd number of backslashes: pairs of them are escaped ones.
bool is_continued(std::string_view line) {
  std::size_t backslashes = 0;
  while (backslashes < line.size() && line[line.size() - 1 - backslashes] == '\\') ++backslashes;
  return backslashes % 2 == 1;
}

std::optional<std::uint32_t> hex4(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (char c : digits.substr(0, 4)) {
    std::uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if ((c | 32) >= 'a' && (c | 32) <= 'f') {
      digit = static_cast<std::uint32_t>((c | 32) - 'a') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 63));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 63));
    put(0x80 | (point & 63));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 63));
    put(0x80 | (point >> 6 & 63));
    put(0x80 | (point & 63));
  }
}

// Resolves the escapes of one key or value. nullopt: \u without four hex digits.
std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) break;
    switch (text[i]) {
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u': {
        std::optional<std::uint32_t> unit = hex4(text.substr(i + 1));
        if (!unit) return std::nullopt;
        i += 4;
        std::uint32_t point = *unit;
        // Two UTF-16 surrogates make one character.
        if (point >= 0xD800 && point < 0xDC00 && text.substr(i + 1).starts_with("\\u")) {
          const std::optional<std::uint32_t> low = hex4(text.substr(i + 3));
          if (low && *low >= 0xDC00 && *low < 0xE000) {
            point = 0x10000 + ((point - 0xD800) << 10) + (*low - 0xDC00);
            i += 6;
          }
        }
        append_utf8(out, point);
        break;
      }
      default:
        out += text[i];  // any other escaped character is itself
    }
  }
  return out;
}

// Where the key ends: the first '=', ':' or blank that is not escaped.
std::size_t key_length(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '=' || line[i] == ':' || is_blank(line[i])) {
      return i;
    }
  }
  return line.size();
}

}  // namespace

std::expected<std::vector<Property>, std::string> parse_properties(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark, which editors leave
  std::vector<Property> properties;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t first_line = line_number;
    std::string_view natural = without_leading_blanks(take_natural_line(text));
    if (natural.empty() || natural.front() == '#' || natural.front() == '!') continue;
    std::string line;
    while (is_continued(natural)) {
      line += natural.substr(0, natural.size() - 1);
      natural = without_leading_blanks(take_natural_line(text));
      ++line_number;
    }
    line += natural;

    const std::size_t key_end = key_length(line);
    std::string_view value = without_leading_blanks(std::string_view(line).substr(std::min(key_end, line.size())));
    if (!value.empty() && (value.front() == '=' || value.front() == ':')) value.remove_prefix(1);
    value = without_leading_blanks(value);
    const std::optional<std::string> key = unescape(std::string_view(line).substr(0, key_end));
    const std::optional<std::string> plain = unescape(value);
    if (!key || !plain) return std::unexpected(fmt::format("line {}: \\u without four hex digits", first_line));
    properties.push_back({*key, *plain, first_line});
  }
  return properties;
}

}  // namespace tailrace::node
