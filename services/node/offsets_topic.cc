#include "services/node/offsets_topic.h"

#include <cstddef>

namespace tailrace::node {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;  // what Java decodes a malformed byte to

// The next code point, and how many bytes it takes; a malformed sequence is one replacement character.
struct CodePoint {
  std::uint32_t value = kReplacement;
  std::size_t size = 1;
};
CodePoint next_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  std::uint32_t value = first & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[size] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {};
  return {value, size};
}

}  // namespace

std::int32_t offsets_partition_of(std::string_view group, std::int32_t partitions) {
  std::uint32_t hash = 0;
  const auto add = [&](std::uint32_t unit) { hash = hash * 31 + unit; };
  while (!group.empty()) {
    const CodePoint point = next_code_point(group);
    group.remove_prefix(point.size);
    if (point.value < 0x10000) {
      add(point.value);
    } else {
      add(0xD800 + ((point.value - 0x10000) >> 10));
      add(0xDC00 + ((point.value - 0x10000) & 0x3FF));
    }
  }
  // Utils.abs: the smallest number has no positive counterpart, and counts as 0.
  const auto number = static_cast<std::int32_t>(hash);
  const std::int32_t positive = number == INT32_MIN ? 0 : number < 0 ? -number : number;
  return positive % partitions;
}

}  // namespace tailrace::node
