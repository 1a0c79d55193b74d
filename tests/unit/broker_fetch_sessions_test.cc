// Fetch sessions by the rules of KIP-227, as Kafka's FetchSession, FetchManager and FetchSessionCacheShard keep them.
#include "services/broker/fetch_sessions.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "services/kafka/messages/fetch.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using kafka::FetchRequest;

constexpr std::int16_t kByName = 12;
constexpr std::int16_t kById = 13;
constexpr Duration kMinute = std::chrono::minutes(1);

Uuid id_of(std::uint8_t number) {
  Uuid id;
  id.bytes[15] = number;
  return id;
}

class FetchSessionsTest : public ::testing::Test {
 protected:
  static FetchRequest request(std::int32_t session_id, std::int32_t epoch) {
    FetchRequest request;
    request.session_id = session_id;
    request.session_epoch = epoch;
    return request;
  }
  static void want(FetchRequest& request, std::string_view topic, std::int32_t partition, Offset offset = 0) {
    if (request.topics.empty() || request.topics.back().topic != topic) request.topics.push_back({.topic = topic});
    request.topics.back().partitions.push_back(
        {.partition = partition, .fetch_offset = offset, .partition_max_bytes = 1000});
  }
  static void want(FetchRequest& request, Uuid id, std::int32_t partition, Offset offset = 0) {
    request.topics.push_back({.topic_id = id});
    request.topics.back().partitions.push_back({.partition = partition, .fetch_offset = offset});
  }
  static void forget(FetchRequest& request, std::string_view topic, std::vector<std::int32_t> partitions) {
    request.forgotten_topics_data.push_back({.topic = topic, .partitions = std::move(partitions)});
  }
  FetchSessions::Opened open(const FetchRequest& request, std::int16_t version = kByName) {
    return sessions_.open(request, version, now_, random_());
  }
  // A session with the partitions 0 to `partitions` - 1 of topic "t"; 0: there was no room.
  std::int32_t create(int partitions = 1, std::int16_t version = kByName) {
    FetchRequest full = request(0, 0);
    for (int i = 0; i < partitions; ++i) {
      if (version >= kById)
        want(full, id_of(1), i);
      else
        want(full, "t", i);
    }
    const auto opened = open(full, version);
    EXPECT_EQ(opened.error, ErrorCode::NONE);
    EXPECT_FALSE(opened.is_incremental);
    return opened.session == nullptr ? 0 : opened.session->id();
  }
  ErrorCode error_of(const FetchRequest& request, std::int16_t version = kByName) {
    return open(request, version).error;
  }
  [[nodiscard]] bool is_known(std::int32_t id) {
    return error_of(request(id, std::numeric_limits<std::int32_t>::min())) == ErrorCode::INVALID_FETCH_SESSION_EPOCH;
  }
  // "t0@5 t1@0": what a session reads, in order.
  static std::string text(FetchSession& session) {
    std::string text;
    for (const auto& each : session.partitions()) {
      if (!text.empty()) text += " ";
      text +=
          each.target.topic + std::to_string(each.target.partition) + "@" + std::to_string(each.target.fetch_offset);
    }
    return text;
  }

  FetchSessions sessions_{3};
  Instant now_{1};
  std::mt19937_64 random_{1};
};

TEST_F(FetchSessionsTest, AFullFetchReadsAPartitionOnceHoweverOftenItIsNamed) {
  FetchRequest twice = request(0, -1);
  want(twice, "t", 0, 5);
  want(twice, "t", 1, 6);
  want(twice, "t", 0, 7);
  const auto opened = open(twice);
  ASSERT_EQ(opened.full.size(), 2u);
  EXPECT_EQ(opened.full[0].partition, 0);
  EXPECT_EQ(opened.full[0].fetch_offset, 7);
  EXPECT_EQ(opened.full[1].partition, 1);
}

TEST_F(FetchSessionsTest, AFullRequestMakesASession) {
  FetchRequest full = request(0, 0);
  want(full, "a", 0, 5);
  want(full, "b", 7, 9);
  const auto opened = open(full);
  ASSERT_NE(opened.session, nullptr);
  EXPECT_GT(opened.session->id(), 0);
  EXPECT_FALSE(opened.is_incremental);
  EXPECT_TRUE(opened.full.empty());
  EXPECT_EQ(text(*opened.session), "a0@5 b7@9");
  EXPECT_EQ(sessions_.size(), 1u);
  const FetchSession::Cached& cached = opened.session->partitions().front();
  EXPECT_EQ(cached.target.max_bytes, 1000);
  EXPECT_EQ(cached.high_watermark, -1);  // whatever is answered first is news
  EXPECT_EQ(cached.log_start_offset, -1);
}

TEST_F(FetchSessionsTest, WithoutAWishForOneThereIsNoSession) {
  FetchRequest full = request(0, -1);
  want(full, "a", 0, 5);
  const auto opened = open(full);
  EXPECT_EQ(opened.error, ErrorCode::NONE);
  EXPECT_EQ(opened.session, nullptr);
  ASSERT_EQ(opened.full.size(), 1u);
  EXPECT_EQ(opened.full[0].topic, "a");
  EXPECT_EQ(opened.full[0].fetch_offset, 5);
  EXPECT_EQ(sessions_.size(), 0u);
}

TEST_F(FetchSessionsTest, AnIncrementalRequestReadsAllAndNamesOnlyChanges) {
  const std::int32_t id = create(3);
  const auto same = open(request(id, 1));
  ASSERT_NE(same.session, nullptr);
  EXPECT_EQ(same.session->id(), id);
  EXPECT_TRUE(same.is_incremental);
  EXPECT_EQ(text(*same.session), "t0@0 t1@0 t2@0");
}

TEST_F(FetchSessionsTest, ChangesStayAndNewPartitionsGoToTheEnd) {
  const std::int32_t id = create(2);
  FetchRequest next = request(id, 1);
  want(next, "t", 0, 44);
  want(next, "u", 0, 1);
  EXPECT_EQ(text(*open(next).session), "t0@44 t1@0 u0@1");
  EXPECT_EQ(text(*open(request(id, 2)).session), "t0@44 t1@0 u0@1");
}

TEST_F(FetchSessionsTest, WhatWasAnsweredIsKeptWhenAPartitionIsWantedAnew) {
  const std::int32_t id = create();
  {
    const auto opened = open(request(id, 1));
    opened.session->partitions().front().high_watermark = 10;
  }
  FetchRequest next = request(id, 2);
  want(next, "t", 0, 7);
  EXPECT_EQ(open(next).session->partitions().front().high_watermark, 10);
}

TEST_F(FetchSessionsTest, ForgottenPartitionsAreLeftOut) {
  const std::int32_t id = create(4);
  FetchRequest next = request(id, 1);
  want(next, "t", 3, 9);
  forget(next, "t", {0, 2, 77});
  forget(next, "unknown", {1});
  EXPECT_EQ(text(*open(next).session), "t1@0 t3@9");
}

TEST_F(FetchSessionsTest, AForgottenPartitionComesBackAsNew) {
  const std::int32_t id = create(2);
  {
    const auto opened = open(request(id, 1));
    opened.session->partitions().front().high_watermark = 10;
  }
  FetchRequest next = request(id, 2);
  forget(next, "t", {0});
  open(next);
  next = request(id, 3);
  want(next, "t", 0);
  const auto opened = open(next);
  EXPECT_EQ(text(*opened.session), "t1@0 t0@0");
  EXPECT_EQ(opened.session->partitions().back().high_watermark, -1);
}

TEST_F(FetchSessionsTest, AServedPartitionGoesBehindTheOthers) {
  const std::int32_t id = create(3);
  {
    const auto opened = open(request(id, 1));
    opened.session->move_to_end(opened.session->partitions().begin());
  }
  EXPECT_EQ(text(*open(request(id, 2)).session), "t1@0 t2@0 t0@0");
}

TEST_F(FetchSessionsTest, WantedTwiceIsWantedOnceTheLaterWay) {
  FetchRequest full = request(0, 0);
  want(full, "t", 0, 1);
  want(full, "t", 1, 2);
  want(full, "t", 0, 3);
  EXPECT_EQ(text(*open(full).session), "t0@3 t1@2");
}

TEST_F(FetchSessionsTest, EpochsFollowEachOther) {
  const std::int32_t id = create();
  EXPECT_EQ(error_of(request(id, 2)), ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(error_of(request(id, 1)), ErrorCode::NONE);
  EXPECT_EQ(error_of(request(id, 1)), ErrorCode::INVALID_FETCH_SESSION_EPOCH);  // a repeat
  EXPECT_EQ(error_of(request(id, 3)), ErrorCode::INVALID_FETCH_SESSION_EPOCH);  // one was lost
  EXPECT_EQ(error_of(request(id, -2)), ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(error_of(request(id, 2)), ErrorCode::NONE);  // an error does not end the session
}

TEST_F(FetchSessionsTest, ARequestThatIsRefusedChangesNothing) {
  const std::int32_t id = create(2);
  FetchRequest wrong = request(id, 5);
  want(wrong, "t", 0, 99);
  forget(wrong, "t", {1});
  const auto refused = open(wrong);
  EXPECT_EQ(refused.error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(refused.session, nullptr);
  EXPECT_TRUE(refused.full.empty());
  EXPECT_EQ(text(*open(request(id, 1)).session), "t0@0 t1@0");
}

TEST_F(FetchSessionsTest, TheEpochAfterTheLastIsOne) {
  // FetchMetadata.nextEpoch. Two milliards of requests would be long; what the rule says is seen at the beginning and
  // the end.
  EXPECT_EQ(FetchSessions::epoch_after(0), 1);
  EXPECT_EQ(FetchSessions::epoch_after(1), 2);
  EXPECT_EQ(FetchSessions::epoch_after(std::numeric_limits<std::int32_t>::max() - 1),
            std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(FetchSessions::epoch_after(std::numeric_limits<std::int32_t>::max()), 1);
}

TEST_F(FetchSessionsTest, UnknownSessionsAreNotFound) {
  create();
  for (const std::int32_t id :
       {0, 1, -1, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    for (const std::int32_t epoch : {1, 2, -2, std::numeric_limits<std::int32_t>::max()}) {
      EXPECT_EQ(error_of(request(id, epoch)), ErrorCode::FETCH_SESSION_ID_NOT_FOUND) << id << " " << epoch;
    }
  }
}

TEST_F(FetchSessionsTest, ASessionKeepsToNamesOrToIds) {
  const std::int32_t by_name = create(1, kByName);
  const std::int32_t by_id = create(1, kById);
  EXPECT_EQ(error_of(request(by_name, 1), kById), ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
  EXPECT_EQ(error_of(request(by_id, 1), kByName), ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
  EXPECT_EQ(error_of(request(by_name, 9), kById), ErrorCode::INVALID_FETCH_SESSION_EPOCH);  // judged first
  EXPECT_EQ(error_of(request(by_name, 1), 7), ErrorCode::NONE);
  EXPECT_EQ(error_of(request(by_id, 1), 17), ErrorCode::NONE);
}

TEST_F(FetchSessionsTest, TopicsOfOnePartitionNumberAreToldApartByTheirIds) {
  FetchRequest full = request(0, 0);
  want(full, id_of(1), 0, 1);
  want(full, id_of(2), 0, 2);
  const std::int32_t id = open(full, kById).session->id();
  FetchRequest next = request(id, 1);
  next.forgotten_topics_data.push_back({.topic_id = id_of(1), .partitions = {0}});
  want(next, id_of(3), 0, 3);
  const auto opened = open(next, kById);
  ASSERT_EQ(opened.session->size(), 2u);
  EXPECT_EQ(opened.session->partitions().front().target.topic_id, id_of(2));
  EXPECT_EQ(opened.session->partitions().back().target.topic_id, id_of(3));
}

TEST_F(FetchSessionsTest, TheFinalEpochEndsASession) {
  const std::int32_t id = create();
  FetchRequest last = request(id, -1);
  want(last, "t", 0, 8);
  const auto opened = open(last);
  EXPECT_EQ(opened.error, ErrorCode::NONE);
  EXPECT_EQ(opened.session, nullptr);
  EXPECT_EQ(opened.full.size(), 1u);
  EXPECT_EQ(sessions_.size(), 0u);
  EXPECT_EQ(error_of(request(id, 1)), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(error_of(request(id, -1)), ErrorCode::NONE);  // and once more: nothing to end
}

TEST_F(FetchSessionsTest, TheInitialEpochPutsANewSessionInItsPlace) {
  const std::int32_t id = create();
  FetchRequest again = request(id, 0);
  want(again, "t", 1);
  const auto opened = open(again);
  ASSERT_NE(opened.session, nullptr);
  EXPECT_NE(opened.session->id(), id);
  EXPECT_EQ(sessions_.size(), 1u);
  EXPECT_FALSE(is_known(id));
}

TEST_F(FetchSessionsTest, ASessionWithoutPartitionsIsRemoved) {
  const std::int32_t id = create(2);
  FetchRequest next = request(id, 1);
  forget(next, "t", {0, 1});
  const auto opened = open(next);
  EXPECT_EQ(opened.error, ErrorCode::NONE);
  EXPECT_EQ(opened.session, nullptr);
  EXPECT_FALSE(opened.is_incremental);
  EXPECT_TRUE(opened.full.empty());
  EXPECT_EQ(sessions_.size(), 0u);
}

TEST_F(FetchSessionsTest, WantedAndForgottenInOneRequestIsReadOnceMore) {
  const std::int32_t id = create(1);
  FetchRequest next = request(id, 1);
  want(next, "t", 0, 6);
  forget(next, "t", {0});
  const auto opened = open(next);
  EXPECT_EQ(opened.session, nullptr);
  ASSERT_EQ(opened.full.size(), 1u);
  EXPECT_EQ(opened.full[0].fetch_offset, 6);
}

TEST_F(FetchSessionsTest, AnEmptyFullRequestMakesASessionToBeFilled) {
  const std::int32_t id = create(0);
  ASSERT_NE(id, 0);
  FetchRequest next = request(id, 1);
  want(next, "t", 0);
  EXPECT_EQ(text(*open(next).session), "t0@0");
}

TEST_F(FetchSessionsTest, AFullCacheLeavesNewcomersWithoutASession) {
  for (int i = 0; i < 3; ++i) EXPECT_NE(create(), 0);
  FetchRequest full = request(0, 0);
  want(full, "t", 0, 4);
  now_ = now_ + 2 * kMinute;  // not longer
  const auto opened = open(full);
  EXPECT_EQ(opened.error, ErrorCode::NONE);
  EXPECT_EQ(opened.session, nullptr);
  ASSERT_EQ(opened.full.size(), 1u);
  EXPECT_EQ(opened.full[0].fetch_offset, 4);
  EXPECT_EQ(sessions_.size(), 3u);
}

TEST_F(FetchSessionsTest, TheSessionUnusedForLongestIsEvictedAfterTwoMinutes) {
  const std::int32_t first = create();
  now_ = now_ + kMinute;
  const std::int32_t second = create();
  const std::int32_t third = create();
  now_ = now_ + kMinute;
  EXPECT_EQ(error_of(request(first, 1)), ErrorCode::NONE);  // used: now the second is the oldest
  now_ = now_ + kMinute + Duration{1};
  const std::int32_t fourth = create();
  EXPECT_NE(fourth, 0);
  EXPECT_EQ(sessions_.size(), 3u);
  EXPECT_EQ(is_known(second) + is_known(third), 1);
  EXPECT_TRUE(is_known(first));
  EXPECT_TRUE(is_known(fourth));
}

TEST_F(FetchSessionsTest, AnOldSessionInUseGivesWayToALargerOneOnly) {
  const std::int32_t small = create(2);
  const std::int32_t large = create(5);
  const std::int32_t young_to_be = create(1);
  now_ = now_ + kMinute;
  FetchRequest restart = request(young_to_be, 0);
  want(restart, "t", 0);
  const std::int32_t young = open(restart).session->id();
  now_ = now_ + kMinute + Duration{1};
  EXPECT_EQ(error_of(request(small, 1)), ErrorCode::NONE);
  EXPECT_EQ(error_of(request(large, 1)), ErrorCode::NONE);
  EXPECT_EQ(create(2), 0);  // as large as the smallest old one
  const std::int32_t larger = create(3);
  EXPECT_NE(larger, 0);
  EXPECT_FALSE(is_known(small));
  EXPECT_TRUE(is_known(large));
  EXPECT_TRUE(is_known(young));  // smaller still, but not two minutes old
  EXPECT_EQ(create(4), 0);
  EXPECT_NE(create(6), 0);
  EXPECT_FALSE(is_known(large));
}

TEST_F(FetchSessionsTest, WithoutSlotsThereAreNoSessions) {
  FetchSessions none(0);
  FetchRequest full = request(0, 0);
  want(full, "t", 0);
  const auto opened = none.open(full, kByName, now_, 5);
  EXPECT_EQ(opened.error, ErrorCode::NONE);
  EXPECT_EQ(opened.session, nullptr);
  EXPECT_EQ(opened.full.size(), 1u);
}

TEST_F(FetchSessionsTest, IdsArePositiveAndNeverTwice) {
  FetchSessions sessions(100);
  std::set<std::int32_t> ids;
  for (int i = 0; i < 100; ++i) {
    FetchRequest full = request(0, 0);
    want(full, "t", 0);
    const std::uint64_t chance[] = {0, 0xFFFFFFFFFFFFFFFFu, 0x80000000u, 7};
    const auto opened = sessions.open(full, kByName, now_, chance[i % 4]);
    ASSERT_NE(opened.session, nullptr);
    EXPECT_GT(opened.session->id(), 0);
    EXPECT_TRUE(ids.insert(opened.session->id()).second);
  }
}

// The fetch that runs looks at the partitions that another request would take from under it.
TEST_F(FetchSessionsTest, OneRequestOfASessionAtATime) {
  const std::int32_t id = create(2);
  {
    const auto running = open(request(id, 1));
    ASSERT_NE(running.session, nullptr);
    FetchRequest intruder = request(id, 2);
    forget(intruder, "t", {0});
    EXPECT_EQ(error_of(intruder), ErrorCode::INVALID_FETCH_SESSION_EPOCH);
    EXPECT_EQ(text(*running.session), "t0@0 t1@0");
  }
  EXPECT_EQ(error_of(request(id, 2)), ErrorCode::NONE);
}

TEST_F(FetchSessionsTest, AFetchOutlivesItsSession) {
  const std::int32_t id = create(2);
  const auto running = open(request(id, 1));
  EXPECT_EQ(error_of(request(id, -1)), ErrorCode::NONE);
  EXPECT_EQ(sessions_.size(), 0u);
  EXPECT_EQ(text(*running.session), "t0@0 t1@0");
}

}  // namespace
}  // namespace tailrace::broker
