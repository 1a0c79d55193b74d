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

std::size_t Arena::take_first(std::size_t level) {
  Level& of = levels_[level];
  while (of.bits[of.first] == 0) ++of.first;
  const std::size_t index = of.first * 64 + static_cast<std::size_t>(std::countr_zero(of.bits[of.first]));
  clear(level, index);
  return index;
}

std::optional<Arena::Chunk> Arena::allocate(std::size_t size) {
  if (size > memory_.size()) return std::nullopt;
  const std::size_t wanted = level_of(size);
  std::size_t level = wanted;
  while (level < levels_.size() && levels_[level].count == 0) ++level;
  if (level == levels_.size()) return std::nullopt;
  std::size_t index = take_first(level);
  while (level > wanted) {  // split: keep the lower half, free the upper
    --level;
    index *= 2;
    set(level, index + 1);
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
