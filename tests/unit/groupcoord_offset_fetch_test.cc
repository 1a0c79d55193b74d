// OffsetFetch of every version, from a shard to the bytes of the answer.
#include "services/groupcoord/offset_fetch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/support/shard_world.h"

namespace tailrace::groupcoord {
namespace {

class OffsetFetchTest : public ShardWorld {
 protected:
  using Topic = kafka::OffsetFetchRequest::OffsetFetchRequestTopics;

  void SetUp() override {
    ShardWorld::SetUp();
    commit("g", {.offset = 40, .metadata = "zero"});
    commit("g", {.partition = 2, .offset = 42});
    commit("g", {.topic = "payments", .partition = 1, .offset = 51});
  }
  static Topic named(std::string_view topic, std::vector<std::int32_t> partitions) {
    Topic made;
    made.name = topic;
    made.partition_indexes = std::move(partitions);
    return made;
  }
  static Topic by_id(std::uint8_t id, std::vector<std::int32_t> partitions) {
    Topic made;
    made.topic_id = ClusterImage::id_of(id);
    made.partition_indexes = std::move(partitions);
    return made;
  }
  FetchedGroup fetch(const WantedOffsets& wanted, std::int16_t version = 9, bool require_stable = false) {
    wanted_ = wanted;
    room_ = {};
    return fetch_offsets(*shard_, wanted_, require_stable, version, room_);
  }
  // "orders-2=42" or "orders-2!86", in order.
  static std::vector<std::string> told(const FetchedGroup& group) {
    std::vector<std::string> all;
    for (const auto& topic : group.topics) {
      for (const auto& each : topic.partitions) {
        const std::string name = std::string(topic.name) + '-' + std::to_string(each.partition_index);
        all.push_back(each.error_code == 0 ? name + '=' + std::to_string(each.committed_offset)
                                           : name + '!' + std::to_string(each.error_code));
      }
    }
    return all;
  }
  // A request of any version, by way of its bytes and those of its answer.
  kafka::OffsetFetchResponse ask(const kafka::OffsetFetchRequest& request, std::int16_t version) {
    request_bytes_.clear();
    response_bytes_.clear();
    kafka::encode(request, version, request_bytes_);
    const auto decoded = kafka::decode_exactly<kafka::OffsetFetchRequest>(request_bytes_.bytes(), version);
    EXPECT_TRUE(decoded.has_value());
    AnswerRoom room;
    std::vector<FetchedGroup> groups;
    const std::vector<WantedOffsets> wanted = wanted_offsets(*decoded, version);
    for (const WantedOffsets& each : wanted) {
      groups.push_back(fetch_offsets(*shard_, each, decoded->require_stable, version, room));
    }
    kafka::encode(fetch_response(std::move(groups), version), version, response_bytes_);
    const auto response = kafka::decode_exactly<kafka::OffsetFetchResponse>(response_bytes_.bytes(), version);
    EXPECT_TRUE(response.has_value());
    return response ? *response : kafka::OffsetFetchResponse{};
  }

  WantedOffsets wanted_;
  AnswerRoom room_;
  kafka::Buffer request_bytes_;
  kafka::Buffer response_bytes_;
};

using Told = std::vector<std::string>;

TEST_F(OffsetFetchTest, NamedPartitionsAreAnsweredOneByOne) {
  const FetchedGroup group = fetch({.group_id = "g",
                                    .topics = {{named("orders", {2, 0, 1, 9, 2}), named("payments", {1}),
                                                named("nothing", {0}), named("payments", {0})}}});
  EXPECT_EQ(group.group_id, "g");
  EXPECT_EQ(group.error_code, 0);
  EXPECT_EQ(told(group), (Told{"orders-2=42", "orders-0=40", "orders-1=-1", "orders-9=-1", "orders-2=42",
                               "payments-1=51", "nothing-0=-1", "payments-0=-1"}));
  EXPECT_EQ(group.topics[0].partitions[1].metadata, "zero");
  EXPECT_EQ(group.topics[0].partitions[2].metadata, "");
  EXPECT_EQ(group.topics[0].partitions[2].committed_leader_epoch, -1);
}

TEST_F(OffsetFetchTest, NullTopicsMeanAll) {
  EXPECT_EQ(told(fetch({.group_id = "g", .topics = std::nullopt})),
            (Told{"orders-0=40", "orders-2=42", "payments-1=51"}));
  EXPECT_TRUE(fetch({.group_id = "g", .topics = {{}}}).topics.empty());
}

TEST_F(OffsetFetchTest, AGroupThatIsNotKnownHasCommittedNothing) {
  const FetchedGroup named_one = fetch({.group_id = "h", .topics = {{named("orders", {0})}}});
  EXPECT_EQ(named_one.error_code, 0);
  EXPECT_EQ(told(named_one), Told{"orders-0=-1"});
  const FetchedGroup all = fetch({.group_id = "h", .topics = std::nullopt});
  EXPECT_EQ(all.error_code, 0);
  EXPECT_TRUE(all.topics.empty());
  EXPECT_EQ(fetch({.group_id = "h", .member_id = "m", .member_epoch = 3, .topics = std::nullopt}).error_code, 0);
}

TEST_F(OffsetFetchTest, OpenTransactionsMakeOffsetsUnstable) {
  see_commit("g", 44, 77, 2);
  see_commit("g", 45, 77, 3);
  const WantedOffsets some{.group_id = "g", .topics = {{named("orders", {0, 2, 3})}}};
  EXPECT_EQ(told(fetch(some)), (Told{"orders-0=40", "orders-2=42", "orders-3=-1"}));
  EXPECT_EQ(told(fetch(some, 9, true)), (Told{"orders-0=40", "orders-2!88", "orders-3!88"}));
  EXPECT_EQ(fetch(some, 9, true).topics[0].partitions[1].committed_offset, -1);
  EXPECT_EQ(told(fetch({.group_id = "g", .topics = std::nullopt}, 9, true)),
            (Told{"orders-0=40", "orders-2!88", "payments-1=51"}));
  see({{}, 77, true});
  EXPECT_EQ(told(fetch(some, 9, true)), (Told{"orders-0=40", "orders-2=44", "orders-3=45"}));
}

TEST_F(OffsetFetchTest, TopicsGoByIdFromVersion10On) {
  const FetchedGroup group =
      fetch({.group_id = "g", .topics = {{by_id(1, {0, 1}), by_id(9, {0, 5}), by_id(0, {1}), by_id(2, {1})}}}, 10);
  EXPECT_EQ(told(group), (Told{"orders-0=40", "orders-1=-1", "-0!100", "-5!100", "-1!100", "payments-1=51"}));
  EXPECT_EQ(group.topics[1].topic_id, ClusterImage::id_of(9));
  const FetchedGroup all = fetch({.group_id = "g", .topics = std::nullopt}, 10);
  ASSERT_EQ(all.topics.size(), 2u);
  EXPECT_EQ(all.topics[0].topic_id, ClusterImage::id_of(1));
  EXPECT_EQ(all.topics[1].topic_id, ClusterImage::id_of(2));
}

// Offsets that an adopted log has for topics that are not there any more.
TEST_F(OffsetFetchTest, ATopicThatIsNotThereIsFoundByItsNameAlone) {
  EXPECT_TRUE(see(
      {record_of(kafka::OffsetCommitKey{.group = "g", .topic = "gone"}, kafka::OffsetCommitValue{.offset = 9}, 3)}));
  EXPECT_EQ(told(fetch({.group_id = "g", .topics = std::nullopt}, 9)),
            (Told{"gone-0=9", "orders-0=40", "orders-2=42", "payments-1=51"}));
  EXPECT_EQ(fetch({.group_id = "g", .topics = std::nullopt}, 10).topics.size(), 2u);
}

TEST_F(OffsetFetchTest, WhatWasCommittedForAnotherTopicOfTheNameDoesNotCountById) {
  const kafka::OffsetCommitValue of_another{.offset = 9, .topic_id = ClusterImage::id_of(77)};
  EXPECT_TRUE(see({record_of(kafka::OffsetCommitKey{.group = "g", .topic = "orders", .partition = 3}, of_another, 4)}));
  EXPECT_EQ(told(fetch({.group_id = "g", .topics = {{by_id(1, {0, 3})}}}, 10)), (Told{"orders-0=40", "orders-3=-1"}));
  EXPECT_EQ(told(fetch({.group_id = "g", .topics = {{named("orders", {3})}}}, 9)), Told{"orders-3=9"});
}

TEST_F(OffsetFetchTest, EveryVersionIsAnswered) {
  for (std::int16_t version = 1; version <= 10; ++version) {
    SCOPED_TRACE(version);
    kafka::OffsetFetchRequest request{.group_id = "g"};
    request.topics->push_back({.name = "orders", .partition_indexes = {0, 1}});
    WantedOffsets wanted{.group_id = "g"};
    wanted.topics->push_back(named("orders", {0, 1}));
    wanted.topics->back().topic_id = ClusterImage::id_of(1);
    request.groups = {wanted, {.group_id = "h", .topics = std::nullopt}};
    const auto response = ask(request, version);
    if (version < 8) {
      ASSERT_EQ(response.topics.size(), 1u);
      EXPECT_EQ(response.error_code, 0);
      EXPECT_EQ(response.topics[0].name, "orders");
      ASSERT_EQ(response.topics[0].partitions.size(), 2u);
      EXPECT_EQ(response.topics[0].partitions[0].committed_offset, 40);
      EXPECT_EQ(response.topics[0].partitions[0].metadata, "zero");
      EXPECT_EQ(response.topics[0].partitions[1].committed_offset, -1);
    } else {
      ASSERT_EQ(response.groups.size(), 2u);
      ASSERT_EQ(response.groups[0].topics.size(), 1u);
      EXPECT_EQ(response.groups[0].topics[0].topic_id, version >= 10 ? ClusterImage::id_of(1) : Uuid{});
      EXPECT_EQ(response.groups[0].topics[0].partitions[0].committed_offset, 40);
      EXPECT_EQ(response.groups[1].group_id, "h");
    }
  }
}

TEST_F(OffsetFetchTest, ARefusalIsSaidWhereTheVersionHasAPlace) {
  const WantedOffsets wanted{.group_id = "g", .topics = {{named("orders", {0, 3})}}};
  const FetchedGroup first = refuse_fetch(wanted, ErrorCode::NOT_COORDINATOR, 1);
  EXPECT_EQ(first.error_code, 0);
  EXPECT_EQ(told(first), (Told{"orders-0!16", "orders-3!16"}));
  EXPECT_EQ(first.topics[0].partitions[0].committed_offset, -1);
  for (const std::int16_t version : std::initializer_list<std::int16_t>{2, 7, 8, 10}) {
    const FetchedGroup later = refuse_fetch(wanted, ErrorCode::NOT_COORDINATOR, version);
    EXPECT_EQ(later.error_code, 16);
    EXPECT_TRUE(later.topics.empty());
    if (version < 8) {
      EXPECT_EQ(fetch_response({later}, version).error_code, 16);
    }
  }
}

// 4 bytes of a request may ask for 4 KiB of metadata: there is an end.
TEST_F(OffsetFetchTest, AnAnswerThatIsTooLargeIsRefused) {
  const std::string metadata(4'096, 'm');
  commit("g", {.offset = 1, .metadata = metadata});
  const WantedOffsets greedy{.group_id = "g", .topics = {{named("orders", std::vector<std::int32_t>(70'000, 0))}}};
  EXPECT_EQ(fetch(greedy).error_code, wire(ErrorCode::INVALID_REQUEST));
  EXPECT_TRUE(fetch(greedy).topics.empty());
  const WantedOffsets honest{.group_id = "g", .topics = {{named("orders", std::vector<std::int32_t>(60'000, 0))}}};
  EXPECT_EQ(fetch(honest).error_code, 0);
  // All groups of a request share the room.
  wanted_ = honest;
  EXPECT_EQ(fetch_offsets(*shard_, wanted_, false, 9, room_).error_code, wire(ErrorCode::INVALID_REQUEST));
}

}  // namespace
}  // namespace tailrace::groupcoord
