// Batches that grow when they are packed anew have a place, whatever waits for the arena.
#include "services/broker/rebuilt_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace tailrace::broker {
namespace {

class Waiter final : public FrameWaiter {
 public:
  std::optional<ipc::Arena::Chunk> chunk;
  void on_room(const ipc::Arena::Chunk& given) override { chunk = given; }
};

class RebuiltMemoryTest : public testing::Test {
 protected:
  static constexpr std::size_t kArena = std::size_t{1} << 20;
  void fill(std::size_t size) {
    while (const auto chunk = frames_.allocate_unless_waited_for(size)) filled_.push_back(*chunk);
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(kArena);
  ipc::Arena arena_{memory_};
  FrameMemory frames_{arena_};
  RebuiltMemory rebuilt_{arena_, frames_};
  std::vector<ipc::Arena::Chunk> filled_;
};

TEST_F(RebuiltMemoryTest, AFreeArenaIsUsedBeforeTheReserve) {
  EXPECT_EQ(rebuilt_.batch_bytes_max(), kArena / 8);
  const auto first = rebuilt_.allocate(10'000);
  const auto second = rebuilt_.allocate(rebuilt_.batch_bytes_max());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(rebuilt_.unused_bytes(), kArena / 8);
  EXPECT_FALSE(rebuilt_.free(*first)) << "it was not the reserve";
  EXPECT_FALSE(rebuilt_.free(*second));
  EXPECT_EQ(arena_.used_bytes(), kArena / 8);
}

TEST_F(RebuiltMemoryTest, InAFullArenaOneBatchAtATimeHasTheReserve) {
  fill(4096);
  fill(kArena / 2);
  const auto reserve = rebuilt_.allocate(rebuilt_.batch_bytes_max());
  ASSERT_TRUE(reserve);
  EXPECT_EQ(reserve->size, kArena / 8);
  EXPECT_EQ(rebuilt_.unused_bytes(), 0u);
  EXPECT_FALSE(rebuilt_.allocate(1)) << "it is taken";
  for (const auto& chunk : filled_) {
    EXPECT_TRUE(chunk.offset + chunk.size <= reserve->offset || reserve->offset + reserve->size <= chunk.offset);
  }
  EXPECT_TRUE(rebuilt_.free(*reserve)) << "who waits for it may go on";
  EXPECT_EQ(rebuilt_.unused_bytes(), kArena / 8);
  EXPECT_TRUE(rebuilt_.allocate(1));
}

// A frame that waits gets what becomes free, and the batch in front of it is not in its way.
TEST_F(RebuiltMemoryTest, WhileFramesWaitTheArenaIsTheirs) {
  fill(4096);
  fill(kArena / 2);
  Waiter waiter;
  ASSERT_FALSE(frames_.allocate(4096, waiter));
  frames_.free(filled_.back());
  const auto reserve = rebuilt_.allocate(4096);
  ASSERT_TRUE(reserve);
  EXPECT_EQ(rebuilt_.unused_bytes(), 0u);
  EXPECT_TRUE(frames_.serve());
  EXPECT_TRUE(waiter.chunk);
  EXPECT_TRUE(rebuilt_.free(*reserve));
}

}  // namespace
}  // namespace tailrace::broker
