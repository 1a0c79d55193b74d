// Producer ids from blocks, told as events and what follows from them.
#include "services/groupcoord/producer_ids.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace tailrace::groupcoord {
namespace {

class ProducerIdsTest : public ::testing::Test {
 protected:
  // Takes `count` ids; all must be given at once, and none may lead to a request of a block.
  void take_now(int count, ProducerId first) {
    for (int i = 0; i < count; ++i) {
      const auto effects = ids_.take(token_++, now_);
      ASSERT_EQ(effects.answers.size(), 1u);
      ASSERT_EQ(effects.answers[0].id, first + i);
      ASSERT_EQ(effects.answers[0].token, token_ - 1);
      ASSERT_FALSE(effects.request_block) << i;
    }
  }
  ProducerIds::Effects take() { return ids_.take(token_++, now_); }
  void reach_with(const ProducerIdBlock& block) {
    ASSERT_TRUE(ids_.on_reachable(now_).request_block);
    ASSERT_FALSE(ids_.on_block(block, now_).request_block);
  }
  void pass(Duration duration) { now_ = now_ + duration; }

  ProducerIds ids_;
  ProducerIds::Token token_ = 100;
  Instant now_{1'000'000};
};

TEST_F(ProducerIdsTest, TheFirstBlockIsAskedForBeforeAnybodyNeedsIt) {
  EXPECT_FALSE(ids_.due());
  EXPECT_TRUE(ids_.on_reachable(now_).request_block);
  EXPECT_TRUE(ids_.on_block({5000, 1000}, now_).answers.empty());
  EXPECT_FALSE(ids_.due());
  take_now(900, 5000);
}

TEST_F(ProducerIdsTest, TheNextBlockIsAskedForWhenNineTenthsAreUsed) {
  reach_with({0, 1000});
  take_now(900, 0);
  const auto effects = take();  // RPCProducerIdManager: as firstProducerId + 0.9 * size is given
  EXPECT_EQ(effects.answers.at(0).id, 900);
  EXPECT_TRUE(effects.request_block);
  take_now(50, 901);  // once is enough
  EXPECT_FALSE(ids_.on_block({7000, 1000}, now_).request_block);
  take_now(49, 951);
  take_now(900, 7000);
}

TEST_F(ProducerIdsTest, RequestsWaitInOrderWhileABlockIsOnItsWay) {
  EXPECT_TRUE(ids_.on_reachable(now_).request_block);
  for (int i = 0; i < 3; ++i) {
    const auto effects = take();
    EXPECT_TRUE(effects.answers.empty());
    EXPECT_FALSE(effects.request_block);
  }
  const auto effects = ids_.on_block({10, 1000}, now_);
  ASSERT_EQ(effects.answers.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(effects.answers[i].token, 100 + i);
    EXPECT_EQ(effects.answers[i].id, static_cast<ProducerId>(10 + i));
  }
  EXPECT_EQ(ids_.waiting(), 0u);
}

TEST_F(ProducerIdsTest, MoreWaitThanABlockHolds) {
  ids_.on_reachable(now_);
  for (int i = 0; i < 25; ++i) take();
  auto effects = ids_.on_block({0, 10}, now_);
  EXPECT_EQ(effects.answers.size(), 10u);
  EXPECT_TRUE(effects.request_block);
  effects = ids_.on_block({50, 10}, now_);
  EXPECT_EQ(effects.answers.size(), 10u);
  EXPECT_EQ(effects.answers[0].id, 50);
  EXPECT_TRUE(effects.request_block);
  effects = ids_.on_block({90, 10}, now_);
  EXPECT_EQ(effects.answers.size(), 5u);
  EXPECT_EQ(effects.answers[4].token, 124u);
  EXPECT_FALSE(effects.request_block);
}

TEST_F(ProducerIdsTest, BlocksOfOne) {
  reach_with({3, 1});
  auto effects = take();
  EXPECT_EQ(effects.answers.at(0).id, 3);
  EXPECT_TRUE(effects.request_block);
  EXPECT_FALSE(ids_.on_block({4, 1}, now_).request_block);
  effects = take();
  EXPECT_EQ(effects.answers.at(0).id, 4);
  EXPECT_TRUE(effects.request_block);
}

TEST_F(ProducerIdsTest, PatienceEndsInTheOrderOfArrival) {
  take();
  pass(std::chrono::seconds(4));
  take();
  EXPECT_EQ(*ids_.due(), now_ + (ProducerIds::kPatience - std::chrono::seconds(4)));
  now_ = *ids_.due();
  auto effects = ids_.on_time(now_);
  ASSERT_EQ(effects.answers.size(), 1u);
  EXPECT_EQ(effects.answers[0].token, 100u);
  EXPECT_EQ(effects.answers[0].id, kNoProducerId);
  pass(std::chrono::seconds(3));
  EXPECT_TRUE(ids_.on_reachable(now_).request_block);
  effects = ids_.on_block({0, 1000}, now_);
  ASSERT_EQ(effects.answers.size(), 1u);
  EXPECT_EQ(effects.answers[0].token, 101u);
  EXPECT_EQ(effects.answers[0].id, 0);
}

TEST_F(ProducerIdsTest, NoMoreThanABoundedNumberWaits) {
  for (std::size_t i = 0; i < ProducerIds::kWaitingMax; ++i) ASSERT_TRUE(take().answers.empty());
  const auto effects = take();
  ASSERT_EQ(effects.answers.size(), 1u);
  EXPECT_EQ(effects.answers[0].token, token_ - 1);
  EXPECT_EQ(effects.answers[0].id, kNoProducerId);
  EXPECT_EQ(ids_.waiting(), ProducerIds::kWaitingMax);
}

TEST_F(ProducerIdsTest, ARefusalIsFollowedByAnotherRequestAfterTheBackoff) {
  EXPECT_TRUE(ids_.on_reachable(now_).request_block);
  take();
  EXPECT_FALSE(ids_.on_refused(now_).request_block);
  EXPECT_FALSE(take().request_block);
  EXPECT_EQ(*ids_.due(), now_ + ProducerIds::kBackoff);
  pass(ProducerIds::kBackoff - Duration{1});
  EXPECT_FALSE(ids_.on_time(now_).request_block);
  pass(Duration{1});
  EXPECT_TRUE(ids_.on_time(now_).request_block);
  EXPECT_EQ(ids_.on_block({0, 1000}, now_).answers.size(), 2u);
}

TEST_F(ProducerIdsTest, ANewSessionDoesNotShortenTheBackoff) {
  ids_.on_reachable(now_);
  ids_.on_refused(now_);
  ids_.on_unreachable();
  EXPECT_FALSE(ids_.due());
  pass(Duration{1000});
  EXPECT_FALSE(ids_.on_reachable(now_).request_block);
  now_ = *ids_.due();
  EXPECT_TRUE(ids_.on_time(now_).request_block);
}

TEST_F(ProducerIdsTest, ABlockOnItsWayIsLostWithItsSession) {
  ids_.on_reachable(now_);
  take();
  ids_.on_unreachable();
  EXPECT_TRUE(ids_.on_block({0, 1000}, now_).answers.empty());  // nobody asked for it any more
  EXPECT_TRUE(ids_.on_reachable(now_).request_block);
  EXPECT_EQ(ids_.on_block({1000, 1000}, now_).answers.at(0).id, 1000);
}

TEST_F(ProducerIdsTest, WhatIsHereIsGivenWithoutTheController) {
  reach_with({0, 1000});
  ids_.on_unreachable();
  take_now(1000, 0);
  EXPECT_TRUE(take().answers.empty());
  EXPECT_TRUE(ids_.on_reachable(now_).request_block);
}

TEST_F(ProducerIdsTest, AnAnswerThatNeverComesIsAskedForAgain) {
  EXPECT_TRUE(ids_.on_reachable(now_).request_block);
  EXPECT_EQ(*ids_.due(), now_ + ProducerIds::kBlockPatience);
  now_ = *ids_.due();
  EXPECT_TRUE(ids_.on_time(now_).request_block);
}

TEST_F(ProducerIdsTest, ABlockThatMayHaveBeenGivenBeforeIsRefused) {
  constexpr ProducerId kMax = std::numeric_limits<ProducerId>::max();
  reach_with({5000, 1000});
  take_now(900, 5000);
  ASSERT_TRUE(take().request_block);
  for (const ProducerIdBlock& bad : std::vector<ProducerIdBlock>{{5000, 1000},
                                                                 {5999, 1000},
                                                                 {0, 1000},
                                                                 {-1, 1000},
                                                                 {6000, 0},
                                                                 {6000, -5},
                                                                 {kMax, 1},
                                                                 {kMax - 10, 1000},
                                                                 {std::numeric_limits<ProducerId>::min(), 1}}) {
    EXPECT_FALSE(ids_.accepts(bad)) << bad.first << " " << bad.size;
    EXPECT_FALSE(ids_.on_block(bad, now_).request_block);
    pass(ProducerIds::kBackoff);
    ASSERT_TRUE(ids_.on_time(now_).request_block);
  }
  EXPECT_TRUE(ids_.accepts({6000, 1}));
  ids_.on_block({6000, 1}, now_);
  take_now(98, 5901);
}

// Whatever happens in whatever order: no id twice, no request without exactly one answer, answers in order.
TEST_F(ProducerIdsTest, RandomEventsNeverGiveAnIdTwice) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ProducerIds ids;
    std::set<ProducerId> given;
    ProducerIds::Token next_token = 0;
    ProducerIds::Token next_answered = 0;
    ProducerId next_block = 0;
    bool reachable = false;
    bool asked = false;
    const auto see = [&](const ProducerIds::Effects& effects) {
      for (const auto& answer : effects.answers) {
        ASSERT_EQ(answer.token, next_answered++);
        if (answer.id != kNoProducerId) {
          ASSERT_TRUE(given.insert(answer.id).second) << answer.id;
        }
      }
      if (effects.request_block) {
        ASSERT_TRUE(reachable);
        asked = true;
      }
    };
    for (int i = 0; i < 5000; ++i) {
      now_ = now_ + Duration{random() % 200'000};
      while (ids.due() && *ids.due() <= now_) see(ids.on_time(now_));
      switch (random() % 8) {
        case 0:
          reachable = true;
          see(ids.on_reachable(now_));
          break;
        case 1:
          reachable = asked = false;
          ids.on_unreachable();
          break;
        case 2:
        case 3:
          if (!asked) break;
          asked = false;
          if (random() % 4 == 0) {
            see(ids.on_refused(now_));
          } else {
            const auto size = static_cast<std::int32_t>(1 + random() % 20);
            see(ids.on_block({next_block, size}, now_));
            next_block += size + random() % 3;
          }
          break;
        default:
          see(ids.take(next_token++, now_));
          break;
      }
      if (HasFatalFailure()) return;
    }
    now_ = now_ + ProducerIds::kPatience;
    see(ids.on_time(now_));
    EXPECT_EQ(next_answered, next_token);
    EXPECT_GT(given.size(), 500u);
  }
}

}  // namespace
}  // namespace tailrace::groupcoord
