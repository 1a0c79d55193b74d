#include "services/kafka/java_text.h"

namespace tailrace::kafka {
namespace {

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Whether `second` may follow `first` in a sequence of three or four bytes.
bool may_follow(unsigned char first, unsigned char second) {
  if (!is_continuation(second)) return false;
  if (first == 0xE0) return second >= 0xA0;
  if (first == 0xF0) return second >= 0x90;
  if (first == 0xF4) return second < 0x90;
  return true;
}

}  // namespace

TextStep read_character(std::string_view text) {
  const auto at = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return {1, true};
  if (first >= 0xC2 && first <= 0xDF) {
    if (text.size() < 2 || !is_continuation(at(1))) return {1, false};
    return {2, true};
  }
  if (first >= 0xE0 && first <= 0xEF) {
    if (text.size() < 2 || !may_follow(first, at(1))) return {1, false};
    if (text.size() < 3 || !is_continuation(at(2))) return {2, false};
    const bool is_surrogate = first == 0xED && at(1) >= 0xA0;
    return {3, !is_surrogate};
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (text.size() < 2 || !may_follow(first, at(1))) return {1, false};
    if (text.size() < 3 || !is_continuation(at(2))) return {2, false};
    if (text.size() < 4 || !is_continuation(at(3))) return {3, false};
    return {4, true};
  }
  return {1, false};
}

std::string java_text(Bytes utf8) {
  std::string_view left = as_text(utf8);
  std::string text;
  text.reserve(left.size());
  while (!left.empty()) {
    const TextStep step = read_character(left);
    text += step.is_valid ? left.substr(0, step.size) : kReplacementCharacter;
    left.remove_prefix(step.size);
  }
  return text;
}

}  // namespace tailrace::kafka
