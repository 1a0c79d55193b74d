// How names that clients have chosen are shown in notes for the log: cut, and without bytes that would make a line look
// like two. PURE.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tailrace::groupcoord {

inline std::string shown(std::string_view name) {
  constexpr std::size_t kBytesMax = 255;
  std::string text(name.substr(0, kBytesMax));
  for (char& byte : text) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F || byte == '"') byte = '?';
  }
  if (name.size() > kBytesMax) text += "...";
  return text;
}

}  // namespace tailrace::groupcoord
