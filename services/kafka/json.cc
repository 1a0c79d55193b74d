#include "services/kafka/json.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "services/kafka/java_text.h"

namespace tailrace::kafka {

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
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kEscaped = "\"\\\b\t\n\f\r";
  constexpr std::string_view kEscapes = "\"\\btnfr";
  out += '"';
  while (!text.empty()) {
    const TextStep step = read_character(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (const std::size_t escape = kEscaped.find(text[0]); escape != std::string_view::npos) {
      out += '\\';
      out += kEscapes[escape];
    } else if (c < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += step.is_valid ? text.substr(0, step.size) : kReplacementCharacter;
    }
    text.remove_prefix(step.size);
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
