// Text as Java prints it: `new String(bytes, UTF_8)` replaces what is not UTF-8, and how many bytes one replacement
// stands for is the JDK's choice (the longest start of a sequence that could have become valid). Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/base/bytes.h"

namespace tailrace::kafka {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct TextStep {
  std::size_t size = 1;  // bytes that are one character, or one replacement
  bool is_valid = false;
};

// At the beginning of `text`, which is not empty.
[[nodiscard]] TextStep read_character(std::string_view text);

// The bytes with each ill-formed sequence replaced by one U+FFFD.
[[nodiscard]] std::string java_text(Bytes utf8);

}  // namespace tailrace::kafka
