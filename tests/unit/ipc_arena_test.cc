// The buddy allocator of the arena: chunks never overlap, and all memory comes back.
#include "engine/ipc/arena.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <random>
#include <vector>

namespace tailrace::ipc {
namespace {

constexpr std::size_t kMin = Arena::kChunkMin;

class ArenaTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kSize = 64 * kMin;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kSize);
  Arena arena_{memory_};
};

TEST_F(ArenaTest, AChunkIsAPowerOfTwoThatFits) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kMin - 1, kMin, kMin + 1, 3 * kMin, kSize / 2 + 1, kSize}) {
    const auto chunk = arena_.allocate(size);
    ASSERT_TRUE(chunk) << size;
    EXPECT_GE(chunk->size, size);
    EXPECT_EQ(chunk->size, std::max(kMin, std::bit_ceil(size)));
    EXPECT_EQ(chunk->offset % chunk->size, 0u);
    EXPECT_EQ(arena_.used_bytes(), chunk->size);
    EXPECT_EQ(arena_.bytes(*chunk).data(), memory_.data() + chunk->offset);
    EXPECT_EQ(arena_.bytes(*chunk).size(), chunk->size);
    arena_.free(*chunk);
    EXPECT_EQ(arena_.used_bytes(), 0u);
  }
}

TEST_F(ArenaTest, MoreThanAllIsNeverThere) {
  EXPECT_FALSE(arena_.allocate(kSize + 1));
  EXPECT_FALSE(arena_.allocate(static_cast<std::size_t>(-1)));
  EXPECT_TRUE(arena_.allocate(kSize));
  EXPECT_FALSE(arena_.allocate(1));
}

TEST_F(ArenaTest, TheLowestFreeAddressGoesFirst) {
  std::vector<Arena::Chunk> chunks;
  for (std::size_t i = 0; i < 64; ++i) {
    chunks.push_back(*arena_.allocate(kMin));
    EXPECT_EQ(chunks.back().offset, i * kMin);
  }
  EXPECT_FALSE(arena_.allocate(1));
  for (const std::size_t i : {50, 7, 20}) arena_.free(chunks[i]);
  EXPECT_EQ(arena_.allocate(1)->offset, 7 * kMin);
  EXPECT_EQ(arena_.allocate(1)->offset, 20 * kMin);
  arena_.free(chunks[3]);
  EXPECT_EQ(arena_.allocate(1)->offset, 3 * kMin);
  EXPECT_EQ(arena_.allocate(1)->offset, 50 * kMin);
}

TEST_F(ArenaTest, MemoryTouchedOnceIsUsedAgain) {
  for (int i = 0; i < 1000; ++i) {
    const auto chunk = arena_.allocate(3000);
    EXPECT_EQ(chunk->offset, 0u);
    arena_.free(*chunk);
  }
}

TEST_F(ArenaTest, BuddiesJoinInWhateverOrderTheyComeBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Arena::Chunk> chunks;
    while (const auto chunk = arena_.allocate(kMin << random() % 3)) chunks.push_back(*chunk);
    std::shuffle(chunks.begin(), chunks.end(), random);
    for (const Arena::Chunk& each : chunks) arena_.free(each);
    const auto whole = arena_.allocate(kSize);
    ASSERT_TRUE(whole) << round;
    arena_.free(*whole);
  }
}

TEST_F(ArenaTest, ASmallChunkBlocksOnlyItsOwnHalf) {
  const auto small = arena_.allocate(1);
  EXPECT_FALSE(arena_.allocate(kSize));
  const auto half = arena_.allocate(kSize / 2);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->offset, kSize / 2);
  EXPECT_FALSE(arena_.allocate(kSize / 2));
  arena_.free(*small);
  EXPECT_TRUE(arena_.allocate(kSize / 2));
}

TEST_F(ArenaTest, AHalfIsAskedForAndNothingElseIsGiven) {
  using Part = Arena::Part;
  EXPECT_FALSE(arena_.allocate(kSize, Part::upper_half));
  const auto upper = arena_.allocate(kSize / 2, Part::upper_half);
  ASSERT_TRUE(upper);
  EXPECT_EQ(upper->offset, kSize / 2);
  EXPECT_FALSE(arena_.allocate(1, Part::upper_half));
  const auto lower = arena_.allocate(kSize / 2, Part::lower_half);
  ASSERT_TRUE(lower);
  EXPECT_EQ(lower->offset, 0u);
  arena_.free(*upper);
  EXPECT_FALSE(arena_.allocate(1, Part::lower_half));
  EXPECT_EQ(arena_.allocate(1, Part::anywhere)->offset, kSize / 2);
  EXPECT_EQ(arena_.allocate(1, Part::upper_half)->offset, kSize / 2 + kMin);
}

TEST_F(ArenaTest, TheSmallestArenaHasOneChunk) {
  Arena one(MutableBytes(memory_).first(kMin));
  const auto chunk = one.allocate(kMin);
  ASSERT_TRUE(chunk);
  EXPECT_FALSE(one.allocate(1));
  one.free(*chunk);
  EXPECT_TRUE(one.allocate(1));
}

TEST_F(ArenaTest, FreedTwiceIsABugAndDies) {
  const auto chunk = arena_.allocate(kSize);
  arena_.free(*chunk);
  EXPECT_DEATH(arena_.free(*chunk), "");
}

// Against a plain map of what is taken: no overlap, the right account, and a "no" only where no aligned hole is large
// enough.
TEST_F(ArenaTest, RandomUseNeverOverlapsAndAllComesBack) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Arena arena(memory_);
    std::map<std::size_t, std::size_t> taken;  // offset to size
    std::size_t used = 0;
    const auto is_free = [&](std::size_t from, std::size_t size) {
      const auto after = taken.lower_bound(from);
      if (after != taken.end() && after->first < from + size) return false;
      return after == taken.begin() || std::prev(after)->first + std::prev(after)->second <= from;
    };
    const unsigned share_of_frees = 3 + seed % 4;
    for (int i = 0; i < 4000; ++i) {
      if (!taken.empty() && random() % 10 < share_of_frees) {
        const auto victim = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
        arena.free({victim->first, victim->second});
        used -= victim->second;
        taken.erase(victim);
      } else {
        const std::size_t size = 1 + random() % (random() % 8 == 0 ? kSize : 4 * kMin);
        const std::size_t needed = std::max(kMin, std::bit_ceil(size));
        using Part = Arena::Part;
        const Part part = std::array{Part::anywhere, Part::anywhere, Part::lower_half, Part::upper_half}[random() % 4];
        const std::size_t from = part == Part::upper_half ? kSize / 2 : 0;
        const std::size_t to = part == Part::lower_half ? kSize / 2 : kSize;
        const auto chunk = arena.allocate(size, part);
        if (chunk) {
          ASSERT_GE(chunk->offset, from);
          ASSERT_LE(chunk->offset + chunk->size, to);
          ASSERT_EQ(chunk->size, needed);
          ASSERT_EQ(chunk->offset % needed, 0u);
          ASSERT_LE(chunk->offset + chunk->size, kSize);
          ASSERT_TRUE(is_free(chunk->offset, chunk->size));
          taken[chunk->offset] = chunk->size;
          used += chunk->size;
        } else {
          for (std::size_t at = from; at + needed <= to; at += needed) ASSERT_FALSE(is_free(at, needed)) << at;
        }
      }
      ASSERT_EQ(arena.used_bytes(), used);
    }
    for (const auto& [offset, size] : taken) arena.free({offset, size});
    EXPECT_EQ(arena.used_bytes(), 0u);
    EXPECT_TRUE(arena.allocate(kSize));
  }
}

}  // namespace
}  // namespace tailrace::ipc
