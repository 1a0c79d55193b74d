// Arena: payload memory shared with the engine, handed out in contiguous chunks. Buddy allocation: a chunk is a power
// of two of at least 4 KiB, freed chunks join their buddies, and the lowest free address goes first, so that memory
// once touched is used again before new pages are. Full means that whoever asks must wait; nothing grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/bytes.h"

namespace tailrace::ipc {

class Arena {
 public:
  static constexpr std::size_t kChunkMin = 4096;

  struct Chunk {
    std::size_t offset = 0;
    std::size_t size = 0;  // a power of two
  };

  // `memory`: a power of two of at least kChunkMin.
  explicit Arena(MutableBytes memory);

  // Where a chunk may lie.
  enum class Part : std::uint8_t { anywhere, lower_half, upper_half };

  // nullopt: no free chunk is large enough now (or `size` is larger than that part of the arena).
  std::optional<Chunk> allocate(std::size_t size, Part part = Part::anywhere);
  void free(const Chunk& chunk);
  [[nodiscard]] MutableBytes bytes(const Chunk& chunk) const { return memory_.subspan(chunk.offset, chunk.size); }
  [[nodiscard]] const std::byte* begin() const { return memory_.data(); }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }
  [[nodiscard]] std::size_t used_bytes() const { return used_bytes_; }

 private:
  // Free chunks of one size, a bit each, with the number of set bits, so that an empty level is skipped.
  struct Level {
    std::vector<std::uint64_t> bits;
    std::size_t count = 0;
    std::size_t first = 0;  // no set bit lies in a word before this one
  };
  [[nodiscard]] std::size_t level_of(std::size_t size) const;
  void set(std::size_t level, std::size_t index);
  void clear(std::size_t level, std::size_t index);
  [[nodiscard]] bool is_set(std::size_t level, std::size_t index) const;
  // The lowest free chunk of the level that lies in that part, or of which one half does.
  std::optional<std::size_t> find(std::size_t level, Part part);

  MutableBytes memory_;
  std::vector<Level> levels_;  // 0: kChunkMin, each next twice as large
  std::size_t used_bytes_ = 0;
};

}  // namespace tailrace::ipc
