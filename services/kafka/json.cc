#include "services/kafka/json.h"

#include <array>
#include <cctype>
#include <cmath>

namespace tailrace::kafka {
namespace {

// The length of the UTF-8 character at the start of `text`, 0 when it is not one.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  const std::size_t size = first < 0x80            ? 1
                           : first >> 5 == 0b110   ? 2
                           : first >> 4 == 0b1110  ? 3
                           : first >> 3 == 0b11110 ? 4
                                                   : 0;
  if (size == 0 || size > text.size()) return 0;
  std::uint32_t point = size == 1 ? first : first & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 0b10) return 0;
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[size] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return 0;
  return size;
}

}  // namespace

std::string camel_case(std::string_view snake_case) {
  std::string camel;
  bool up = false;
  for (const char c : snake_case) {
    if (c == '_') {
      up = true;
      continue;
    }
    camel += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    up = false;
  }
  return camel;
}

void append_json_string(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (size == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || c == 0x7F) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
}

void append_base64(Bytes bytes, std::string& out) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out += '"';
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  out += '"';
}

void append_json_number(double value, std::string& out) {
  if (!std::isfinite(value)) return void(out += "null");
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

}  // namespace tailrace::kafka
