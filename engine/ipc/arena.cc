#include "engine/ipc/arena.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace tailrace::ipc {

Arena::Arena(MutableBytes memory) : memory_(memory) {
  CHECK(std::has_single_bit(memory.size()));
  CHECK(memory.size() >= kChunkMin);
  for (std::size_t size = kChunkMin; size <= memory.size(); size *= 2) {
    levels_.push_back({.bits = std::vector<std::uint64_t>((memory.size() / size + 63) / 64)});
  }
  set(levels_.size() - 1, 0);
}

std::size_t Arena::level_of(std::size_t size) const {
  return static_cast<std::size_t>(std::countr_zero(std::bit_ceil(std::max(size, kChunkMin)) / kChunkMin));
}

void Arena::set(std::size_t level, std::size_t index) {
  Level& of = levels_[level];
  of.bits[index / 64] |= std::uint64_t{1} << index % 64;
  of.first = of.count == 0 ? index / 64 : std::min(of.first, index / 64);
  ++of.count;
}

void Arena::clear(std::size_t level, std::size_t index) {
  levels_[level].bits[index / 64] &= ~(std::uint64_t{1} << index % 64);
  --levels_[level].count;
}

bool Arena::is_set(std::size_t level, std::size_t index) const {
  return (levels_[level].bits[index / 64] >> index % 64 & 1) != 0;
}

std::optional<std::size_t> Arena::find(std::size_t level, Part part) {
  Level& of = levels_[level];
  if (of.count == 0) return std::nullopt;
  const std::size_t upper_half = (memory_.size() / 2) / (kChunkMin << level);  // 0 in the topmost level
  if (part != Part::upper_half) {
    while (of.bits[of.first] == 0) ++of.first;
    const std::size_t index = of.first * 64 + static_cast<std::size_t>(std::countr_zero(of.bits[of.first]));
    if (part == Part::lower_half && index >= std::max<std::size_t>(upper_half, 1)) return std::nullopt;
    return index;
  }
  for (std::size_t word = upper_half / 64; word < of.bits.size(); ++word) {
    std::uint64_t bits = of.bits[word];
    if (word == upper_half / 64) bits &= ~std::uint64_t{0} << upper_half % 64;
    if (bits != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  }
  return std::nullopt;
}

std::optional<Arena::Chunk> Arena::allocate(std::size_t size, Part part) {
  if (size > memory_.size() / (part == Part::anywhere ? 1 : 2)) return std::nullopt;
  const std::size_t wanted = level_of(size);
  std::size_t level = wanted;
  std::optional<std::size_t> found = find(level, part);
  while (!found && ++level < levels_.size()) found = find(level, part);
  if (!found) return std::nullopt;
  std::size_t index = *found;
  clear(level, index);
  while (level > wanted) {  // split: keep the lower half, free the upper
    const bool keeps_upper = part == Part::upper_half && level + 1 == levels_.size();
    --level;
    index = 2 * index + (keeps_upper ? 1 : 0);
    set(level, index ^ 1);
  }
  const Chunk chunk{index * (kChunkMin << wanted), kChunkMin << wanted};
  used_bytes_ += chunk.size;
  return chunk;
}

void Arena::free(const Chunk& chunk) {
  std::size_t level = level_of(chunk.size);
  std::size_t index = chunk.offset / chunk.size;
  CHECK(!is_set(level, index));
  used_bytes_ -= chunk.size;
  while (level + 1 < levels_.size() && is_set(level, index ^ 1)) {
    clear(level, index ^ 1);
    index /= 2;
    ++level;
  }
  set(level, index);
}

}  // namespace tailrace::ipc
