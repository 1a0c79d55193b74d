// Who gets memory for a frame, and who waits.
#include "services/broker/frame_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace tailrace::broker {
namespace {

constexpr std::size_t kSmall = 10'000;
constexpr std::size_t kLarge = std::size_t{3} << 20;

struct Frame final : FrameWaiter {
  std::size_t size = 0;
  std::optional<ipc::Arena::Chunk> chunk;
  std::vector<Frame*>* served = nullptr;
  void on_room(const ipc::Arena::Chunk& given) override {
    EXPECT_FALSE(chunk);
    chunk = given;
    served->push_back(this);
  }
};

class FrameMemoryTest : public testing::Test {
 protected:
  static constexpr std::size_t kSize = std::size_t{64} << 20;

  Frame& come(std::size_t size) {
    Frame& frame = *frames_.emplace_back(std::make_unique<Frame>());
    frame.size = size;
    frame.served = &served_;
    frame.chunk = memory_.allocate(size, frame);
    return frame;
  }
  void end(Frame& frame) {
    memory_.free(*frame.chunk);
    frame.chunk.reset();
  }
  // Small ones until the first must wait.
  std::vector<Frame*> fill() {
    std::vector<Frame*> all;
    do {
      all.push_back(&come(kSmall));
    } while (all.back()->chunk);
    memory_.forget(*all.back());
    all.pop_back();
    return all;
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(kSize);
  ipc::Arena arena_{bytes_};
  FrameMemory memory_{arena_};
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Frame*> served_;
};

// A stream of small frames takes whatever becomes free; before, a large one found its hole only by chance.
TEST_F(FrameMemoryTest, AStreamOfSmallFramesDoesNotStarveALargeOne) {
  std::vector<Frame*> small = fill();
  Frame& large = come(kLarge);
  EXPECT_FALSE(large.chunk);
  std::mt19937 random(1);
  std::size_t came = 0;
  for (; !large.chunk && came < 100'000; ++came) {
    const std::size_t at = random() % small.size();
    if (small[at]->chunk) end(*small[at]);
    small[at] = &come(kSmall);
    memory_.serve();
  }
  EXPECT_TRUE(large.chunk);
  EXPECT_EQ(served_.size() > 1, true) << "the small ones went on meanwhile";
}

TEST_F(FrameMemoryTest, LargeFramesDoNotKeepSmallOnesOut) {
  std::vector<Frame*> large;
  do {
    large.push_back(&come(kLarge));
  } while (large.back()->chunk);
  EXPECT_EQ(large.size(), kSize / 2 / (std::size_t{4} << 20) + 1);
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(come(kSmall).chunk);
}

TEST_F(FrameMemoryTest, EachKindIsServedInTheOrderOfComing) {
  std::vector<Frame*> small = fill();
  std::vector<Frame*> waiting_small;
  std::vector<Frame*> waiting_large;
  for (int i = 0; i < 10; ++i) {
    waiting_large.push_back(&come(kLarge << i % 3));
    waiting_small.push_back(&come(kSmall << i % 4));
  }
  memory_.forget(*waiting_large[2]);
  memory_.forget(*waiting_small[5]);
  std::shuffle(small.begin(), small.end(), std::mt19937(2));
  for (Frame* const each : small) {
    end(*each);
    memory_.serve();
  }
  for (std::size_t i = 0; i < served_.size(); ++i) {  // and those that were served make room for the rest
    end(*served_[i]);
    memory_.serve();
  }
  EXPECT_EQ(served_.size(), 18u);
  std::erase(waiting_large, waiting_large[2]);
  std::erase(waiting_small, waiting_small[5]);
  std::vector<Frame*> served_large = served_;
  std::vector<Frame*> served_small = served_;
  std::erase_if(served_large, [](const Frame* each) { return each->size < kLarge; });
  std::erase_if(served_small, [](const Frame* each) { return each->size >= kLarge; });
  EXPECT_EQ(served_large, waiting_large);
  EXPECT_EQ(served_small, waiting_small);
  EXPECT_EQ(arena_.used_bytes(), 0u);
}

TEST_F(FrameMemoryTest, ALaterOneDoesNotOvertake) {
  std::vector<Frame*> small = fill();
  Frame& first = come(100'000);
  end(*small[100]);  // room for a small one, not for the first
  Frame& later = come(kSmall);
  memory_.serve();
  EXPECT_FALSE(first.chunk);
  EXPECT_FALSE(later.chunk);
}

// Nothing else may happen that would make room for those behind it.
TEST_F(FrameMemoryTest, OneThatGivesUpMakesRoomForThoseBehind) {
  std::vector<Frame*> small = fill();
  Frame& large = come(kLarge);
  end(*small.back());  // in the upper half, which is kept for the large one
  memory_.serve();
  Frame& later = come(kSmall);
  EXPECT_FALSE(later.chunk);
  memory_.forget(large);
  EXPECT_TRUE(memory_.serve());
  EXPECT_TRUE(later.chunk);
  EXPECT_FALSE(memory_.serve());
}

// A chunk of just the right size in the upper half is not better than a part of a larger one in the lower half.
TEST_F(FrameMemoryTest, SmallFramesLeaveTheUpperHalfAloneWhileThereIsRoom) {
  for (Frame* const each : fill()) {
    if (each->chunk->offset != kSize / 2) end(*each);  // whose other half is free now
  }
  for (int i = 0; i < 1000; ++i) EXPECT_LT(come(kSmall).chunk->offset, kSize / 2);
}

TEST_F(FrameMemoryTest, TheLargestFrameFindsRoomInTheEnd) {
  std::vector<Frame*> small = fill();
  Frame& largest = come(memory_.frame_bytes_max());
  for (Frame* const each : small) {
    if (each->chunk->offset >= kSize / 2) end(*each);
    memory_.serve();
  }
  EXPECT_TRUE(largest.chunk);
}

}  // namespace
}  // namespace tailrace::broker
