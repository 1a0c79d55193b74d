#include "engine/base/types.h"

namespace tailrace {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string Uuid::text() const {
  std::string out;
  out.reserve(22);
  for (std::size_t i = 0; i < 16; i += 3) {
    std::uint32_t group = std::uint32_t(bytes[i]) << 16;
    if (i + 1 < 16) group |= std::uint32_t(bytes[i + 1]) << 8;
    if (i + 2 < 16) group |= bytes[i + 2];
    const std::size_t characters = i + 2 < 16 ? 4 : 2;  // the 16th byte stands alone: 2 characters
    for (std::size_t c = 0; c < characters; ++c) out += kAlphabet[group >> (18 - 6 * c) & 63];
  }
  return out;
}

bool Uuid::parse(std::string_view text, Uuid& out) {
  if (text.size() == 24 && text.ends_with("==")) text.remove_suffix(2);
  if (text.size() != 22) return false;
  Uuid id;
  std::uint32_t bits = 0;
  std::size_t bit_count = 0;
  std::size_t byte = 0;
  for (char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return false;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    bit_count += 6;
    if (bit_count >= 8 && byte < 16) {
      bit_count -= 8;
      id.bytes[byte++] = static_cast<std::uint8_t>(bits >> bit_count);
    }
  }
  out = id;
  return true;
}

}  // namespace tailrace
