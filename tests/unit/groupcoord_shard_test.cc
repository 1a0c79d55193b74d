// A shard: groups that come by requests and by records, live by their clock and go.
#include "services/groupcoord/shard.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/support/shard_world.h"

namespace tailrace::groupcoord {
namespace {

class ShardTest : public ShardWorld {};

// -- Which requests make a group -----------------------------------------------------------------------------------

TEST_F(ShardTest, ACommitFromOutsideMakesAGroupOfItsOwn) {
  EXPECT_EQ(commit("tool", {.offset = 42}), ErrorCode::NONE);
  const Group* const group = shard_->find("tool");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->type(), GroupType::classic);
  EXPECT_EQ(group->state(), "Empty");
  EXPECT_EQ(group->protocol_type(), "");
  EXPECT_EQ(offset_of("tool"), 42);
  restart();
  EXPECT_TRUE(has("tool"));
  EXPECT_EQ(offset_of("tool"), 42);
}

TEST_F(ShardTest, ACommitOfAGenerationNeedsTheGroup) {
  EXPECT_EQ(commit("g", {.member = "m", .generation = 0, .version = 8}), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(commit("g", {.member = "m", .generation = 0, .version = 9}), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_FALSE(has("g"));
  EXPECT_TRUE(log_.empty());
}

TEST_F(ShardTest, ACommitOfNothingMakesNoGroup) {
  EXPECT_EQ(commit("g", {.topic = "nothing"}), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(commit("g", {.metadata = std::string(4'097, 'm')}), ErrorCode::OFFSET_METADATA_TOO_LARGE);
  const Call made = call(8, 9);
  take(shard_->commit(made, {.group_id = "g"}, moment_));
  EXPECT_TRUE(answer<kafka::OffsetCommitResponse>(made.token).topics.empty());
  EXPECT_FALSE(has("g"));
  EXPECT_TRUE(log_.empty());
}

// Kafka asks the group about what the cluster has alone.
TEST_F(ShardTest, WhatIsUnknownIsSaidWhoeverAsks) {
  enter("g");
  EXPECT_EQ(commit("g", {.topic = "nothing", .member = "stranger", .generation = 7}),
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(commit("g", {.member = "stranger", .generation = 7}), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(ShardTest, JoinGroupMakesAGroupForWhoHasNoMemberIdYet) {
  EXPECT_EQ(error<kafka::JoinGroupResponse>(join("g", "somebody")), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_FALSE(has("g"));
  EXPECT_EQ(error<kafka::JoinGroupResponse>(join("", "")), ErrorCode::INVALID_GROUP_ID);
  EXPECT_EQ(error<kafka::JoinGroupResponse>(join("g", "", "consumer", 5'999)), ErrorCode::INVALID_SESSION_TIMEOUT);
  EXPECT_TRUE(log_.empty());
  EXPECT_EQ(error<kafka::JoinGroupResponse>(join("g", "")), ErrorCode::MEMBER_ID_REQUIRED);
  EXPECT_TRUE(has("g"));
  EXPECT_EQ(last_records_, 1u);
  restart();
  EXPECT_TRUE(has("g"));
}

TEST_F(ShardTest, RequestsOfMembersDoNotMakeOne) {
  EXPECT_EQ(error<kafka::SyncGroupResponse>(sync("g", "m", 1, true)), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(error<kafka::SyncGroupResponse>(sync("", "m", 1, true)), ErrorCode::INVALID_GROUP_ID);
  EXPECT_EQ(heartbeat("g", "m", 1), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat("", "m", 1), ErrorCode::INVALID_GROUP_ID);
  const auto left = answer<kafka::LeaveGroupResponse>(leave("g", "m"));
  EXPECT_EQ(left.error_code, 0);
  ASSERT_EQ(left.members.size(), 1u);
  EXPECT_EQ(left.members[0].error_code, wire(ErrorCode::UNKNOWN_MEMBER_ID));
  EXPECT_EQ(error<kafka::LeaveGroupResponse>(leave("", "m")), ErrorCode::INVALID_GROUP_ID);
  EXPECT_EQ(delete_offset("g", "orders", 0), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(delete_offset("", "orders", 0), ErrorCode::INVALID_GROUP_ID);
  EXPECT_EQ(remove_group("g"), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_FALSE(has("g"));
  EXPECT_TRUE(log_.empty());
}

// -- Commits of members --------------------------------------------------------------------------------------------

TEST_F(ShardTest, MembersCommitInTheirGeneration) {
  const std::string member = enter("g");
  EXPECT_EQ(commit("g", {.offset = 5, .member = member, .generation = 1}), ErrorCode::NONE);
  EXPECT_EQ(offset_of("g"), 5);
  EXPECT_EQ(commit("g", {.offset = 6, .member = member, .generation = 0}), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(commit("g", {.offset = 6, .member = "stranger", .generation = 1}), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit("g", {.offset = 6}), ErrorCode::UNKNOWN_MEMBER_ID);  // as if nobody were in the group
  EXPECT_EQ(offset_of("g"), 5);
}

TEST_F(ShardTest, ACommitKeepsItsMemberAlive) {
  const std::string member = enter("g");
  for (int i = 0; i < 10; ++i) {
    pass(std::chrono::seconds(9));
    EXPECT_EQ(commit("g", {.offset = i, .member = member, .generation = 1}), ErrorCode::NONE);
  }
  pass(std::chrono::seconds(11));
  EXPECT_EQ(shard_->find("g")->state(), "Empty");
  EXPECT_EQ(commit("g", {.member = member, .generation = 1}), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(ShardTest, OneErrorOfTheGroupIsThatOfEveryPartition) {
  enter("g");
  const Call made = call(8, 10);
  kafka::OffsetCommitRequest request{.group_id = "g", .generation_id_or_member_epoch = 9, .member_id = "m"};
  request.topics.push_back(
      {.topic_id = ClusterImage::id_of(1), .partitions = {{.partition_index = 0}, {.partition_index = 9}}});
  request.topics.push_back({.topic_id = ClusterImage::id_of(9), .partitions = {{.partition_index = 0}}});
  request.topics.push_back({.topic_id = ClusterImage::id_of(2), .partitions = {{.partition_index = 1}}});
  take(shard_->commit(made, request, moment_));
  const auto response = answer<kafka::OffsetCommitResponse>(made.token);
  ASSERT_EQ(response.topics.size(), 3u);
  EXPECT_EQ(response.topics[0].partitions[0].error_code, wire(ErrorCode::UNKNOWN_MEMBER_ID));
  EXPECT_EQ(response.topics[0].partitions[1].error_code, wire(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(response.topics[1].topic_id, ClusterImage::id_of(9));
  EXPECT_EQ(response.topics[1].partitions[0].error_code, wire(ErrorCode::UNKNOWN_TOPIC_ID));
  EXPECT_EQ(response.topics[2].partitions[0].error_code, wire(ErrorCode::UNKNOWN_MEMBER_ID));
}

// -- Removal -------------------------------------------------------------------------------------------------------

TEST_F(ShardTest, AGroupIsDeletedWhenNobodyIsInIt) {
  const std::string member = enter("g");
  commit("g", {.offset = 5, .member = member, .generation = 1});
  EXPECT_EQ(remove_group("g"), ErrorCode::NON_EMPTY_GROUP);
  leave("g", member);
  see_commit("g", 7, 77, 3);
  EXPECT_EQ(remove_group("g"), ErrorCode::NONE);
  EXPECT_EQ(last_records_, 3u);
  EXPECT_FALSE(has("g"));
  EXPECT_FALSE(shard_->offsets().has_any("g"));
  see({{}, 77, true});
  restart();
  EXPECT_FALSE(has("g"));
  EXPECT_FALSE(shard_->offsets().has_any("g"));
}

TEST_F(ShardTest, OffsetsOfMembersWithAProtocolOfTheirOwnStay) {
  commit("connect", {.offset = 5});
  const std::string member = enter("connect", "connect");
  EXPECT_EQ(delete_offset("connect", "orders", 0), ErrorCode::NON_EMPTY_GROUP);
  leave("connect", member);
  EXPECT_EQ(delete_offset("connect", "orders", 0), ErrorCode::NONE);
  EXPECT_EQ(offset_of("connect"), std::nullopt);
}

TEST_F(ShardTest, OffsetsOfConsumersGoUnlessTheyReadTheTopic) {
  commit("g", {.offset = 5});
  commit("g", {.topic = "payments", .offset = 6});
  enter("g");
  EXPECT_EQ(delete_offset("g", "orders", 0), ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
  EXPECT_EQ(delete_offset("g", "payments", 0), ErrorCode::NONE);
  EXPECT_EQ(delete_offset("g", "payments", 0), ErrorCode::NONE);
  EXPECT_EQ(delete_offset("g", "payments", 2), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(offset_of("g"), 5);
  EXPECT_EQ(offset_of("g", "payments"), std::nullopt);
}

// -- Retention -----------------------------------------------------------------------------------------------------

TEST_F(ShardTest, WhatNobodyUsesIsForgottenAfterTheRetention) {
  commit("tool", {.offset = 42});
  const std::string member = enter("g");
  commit("g", {.offset = 5, .member = member, .generation = 1});
  leave("g", member);
  const auto retention = std::chrono::milliseconds(settings_.offsets_retention_ms);
  pass(retention - std::chrono::minutes(1));
  EXPECT_TRUE(has("tool"));
  EXPECT_TRUE(has("g"));
  pass(settings_.offsets_retention_check + std::chrono::minutes(1));
  EXPECT_FALSE(has("tool"));
  EXPECT_FALSE(has("g"));
  EXPECT_FALSE(shard_->offsets().has_any("tool"));
  restart();
  EXPECT_TRUE(shard_->groups().empty());
  EXPECT_FALSE(shard_->offsets().has_any("g"));
}

TEST_F(ShardTest, AGroupThatIsInUseKeepsWhatItReads) {
  settings_.offsets_retention_ms = 60'000;
  settings_.offsets_retention_check = std::chrono::seconds(10);
  start();
  load();
  const std::string member = enter("g");
  commit("g", {.offset = 5, .member = member, .generation = 1});
  commit("g", {.topic = "payments", .offset = 6, .member = member, .generation = 1});
  for (int i = 0; i < 20; ++i) {
    pass(std::chrono::seconds(9));
    EXPECT_EQ(heartbeat("g", member, 1), ErrorCode::NONE);
  }
  EXPECT_EQ(offset_of("g"), 5);
  EXPECT_EQ(offset_of("g", "payments"), std::nullopt);  // it is not subscribed to
  leave("g", member);
  pass(std::chrono::seconds(59));
  EXPECT_EQ(offset_of("g"), 5);
  pass(std::chrono::seconds(11));
  EXPECT_FALSE(has("g"));
}

TEST_F(ShardTest, GroupsWithoutOffsetsAndMembersGoWithTheNextLook) {
  EXPECT_EQ(error<kafka::JoinGroupResponse>(join("g", "")), ErrorCode::MEMBER_ID_REQUIRED);
  const std::string member = enter("h");
  commit("i", {.offset = 5});
  for (int i = 0; i < 70; ++i) {
    pass(std::chrono::seconds(9));
    EXPECT_EQ(heartbeat("h", member, 1), ErrorCode::NONE);
  }
  EXPECT_FALSE(has("g"));
  EXPECT_TRUE(has("h"));
  EXPECT_TRUE(has("i"));
  restart();
  EXPECT_FALSE(has("g"));
}

TEST_F(ShardTest, ManyExpireInSteps) {
  settings_.offsets_retention_ms = 1'000;
  settings_.offsets_retention_check = std::chrono::seconds(1);
  start();
  load();
  cluster_.add("wide", 5, 1'500);
  image(cluster_.image());
  for (std::int32_t i = 0; i < 1'500; ++i) commit("a", {.topic = "wide", .partition = i, .offset = i});
  for (int i = 0; i < 800; ++i) commit("b" + std::to_string(i), {.offset = i});
  advance_to(moment_.now + std::chrono::seconds(10));
  std::vector<std::size_t> steps;
  while (shard_->next_deadline() && *shard_->next_deadline() <= moment_.now) {
    ASSERT_LT(steps.size(), 100u);
    take(shard_->on_time(moment_));
    if (last_records_ != 0) steps.push_back(last_records_);
    EXPECT_LE(last_records_, Shard::kStepRecordsMax + 2);
  }
  EXPECT_GE(steps.size(), 3u);
  EXPECT_TRUE(shard_->groups().empty());
  EXPECT_TRUE(reload()->groups().empty());
  EXPECT_EQ(*shard_->next_deadline(), moment_.now + std::chrono::seconds(1));
}

// -- Topics --------------------------------------------------------------------------------------------------------

TEST_F(ShardTest, OffsetsOfADeletedTopicGo) {
  commit("g", {.offset = 1});
  commit("g", {.topic = "payments", .offset = 2});
  image(cluster_.remove("orders"));
  settle();
  EXPECT_EQ(offset_of("g"), std::nullopt);
  EXPECT_EQ(offset_of("g", "payments"), 2);
  EXPECT_EQ(commit("g", {.offset = 3}), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  restart();
  EXPECT_EQ(offset_of("g"), std::nullopt);
  EXPECT_EQ(offset_of("g", "payments"), 2);
}

TEST_F(ShardTest, ATopicThatIsMadeAnewBeginsWithoutOffsets) {
  commit("g", {.offset = 1});
  image(cluster_.replace("orders", 8, 4));
  EXPECT_EQ(offset_of("g"), std::nullopt);
  EXPECT_EQ(commit("g", {.offset = 3}), ErrorCode::NONE);
  image(cluster_.add("other", 9, 1));
  EXPECT_EQ(offset_of("g"), 3);
}

TEST_F(ShardTest, ATopicWhoseIdBecomesKnownIsTheSame) {
  image(cluster_.add("nameless", 0, 1));
  commit("g", {.topic = "nameless", .offset = 1});
  image(cluster_.add("nameless", 6, 1));
  settle();
  EXPECT_EQ(offset_of("g", "nameless"), 1);
}

// A node that was cut off from its controller begins with nothing: that says nothing about topics.
TEST_F(ShardTest, AnImageWithoutBrokersDeletesNothing) {
  commit("g", {.offset = 1});
  image(node::MetadataImage::empty());
  image(cluster_.image());
  settle();
  EXPECT_EQ(offset_of("g"), 1);
  EXPECT_EQ(last_records_, 0u);
}

TEST_F(ShardTest, ATopicDeletedWhileTheLogIsReadIsLookedForAfterwards) {
  commit("g", {.offset = 1});
  commit("h", {.offset = 2});
  const std::vector<Logged> log = log_;
  start();
  EXPECT_TRUE(feed(log[0], *shard_));
  EXPECT_EQ(shard_->next_deadline(), std::nullopt);
  image(cluster_.remove("orders"));
  EXPECT_EQ(last_records_, 0u);
  EXPECT_TRUE(feed(log[1], *shard_));
  load();
  EXPECT_EQ(last_records_, 2u);
  EXPECT_FALSE(shard_->offsets().has_any("g"));
  EXPECT_FALSE(shard_->offsets().has_any("h"));
}

TEST_F(ShardTest, ManyOffsetsOfDeletedTopicsGoInSteps) {
  cluster_.add("wide", 5, 100);
  image(cluster_.image());
  for (int g = 0; g < 25; ++g) {
    for (std::int32_t i = 0; i < 100; ++i) {
      commit("g" + std::to_string(g), {.topic = "wide", .partition = i, .offset = i});
    }
    commit("g" + std::to_string(g), {.offset = 1});
  }
  image(cluster_.remove("wide"));
  EXPECT_EQ(last_records_, Shard::kStepRecordsMax);
  image(cluster_.remove("orders"));  // in the middle of it
  EXPECT_LE(*shard_->next_deadline(), moment_.now);
  settle();
  for (int g = 0; g < 25; ++g) EXPECT_FALSE(shard_->offsets().has_any("g" + std::to_string(g)));
  EXPECT_GT(*shard_->next_deadline(), moment_.now);
}

// -- Records -------------------------------------------------------------------------------------------------------

TEST_F(ShardTest, AGroupsLastRecordCounts) {
  const std::string member = enter("g");
  EXPECT_TRUE(see({record_of(kafka::GroupMetadataKey{.group = "g"},
                             kafka::GroupMetadataValue{.protocol_type = "consumer", .generation = 8}, 3)}));
  EXPECT_EQ(shard_->find("g")->state(), "Empty");
  EXPECT_TRUE(see({record_of(kafka::GroupMetadataKey{.group = "g"})}));
  EXPECT_FALSE(has("g"));
  EXPECT_TRUE(see({record_of(kafka::GroupMetadataKey{.group = "never"})}));
  EXPECT_TRUE(see({record_of(kafka::OffsetCommitKey{.group = "never", .topic = "t"})}));
  EXPECT_FALSE(has("never"));
}

TEST_F(ShardTest, WhatAGroupThatEndedHadCommittedExpires) {
  see_commit("g", 4);
  EXPECT_TRUE(see({record_of(kafka::GroupMetadataKey{.group = "g"})}));
  EXPECT_FALSE(has("g"));
  restart();
  EXPECT_TRUE(has("g"));
  EXPECT_EQ(offset_of("g"), 4);
  pass(std::chrono::milliseconds(settings_.offsets_retention_ms) + settings_.offsets_retention_check);
  EXPECT_FALSE(has("g"));
  EXPECT_EQ(offset_of("g"), std::nullopt);
}

TEST_F(ShardTest, MembersHaveTheirWholeSessionAfterARestart) {
  const std::string member = enter("g");
  pass(std::chrono::seconds(9));
  restart();
  pass(std::chrono::seconds(9));
  EXPECT_EQ(heartbeat("g", member, 1), ErrorCode::NONE);
  pass(std::chrono::seconds(11));
  EXPECT_EQ(shard_->find("g")->state(), "Empty");
  EXPECT_EQ(heartbeat("g", member, 1), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(ShardTest, RecordsOfOthersArePassedOver) {
  const auto key = [](std::int16_t type) {
    std::vector<std::byte> bytes(2);
    store_big_endian(bytes.data(), type);
    for (const char each : std::string_view("\0\1g", 3)) bytes.push_back(static_cast<std::byte>(each));
    return bytes;
  };
  for (const int type : {9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 1'000, -1}) {
    EXPECT_FALSE(shard_->apply(key(static_cast<std::int16_t>(type)), Bytes{}, kNoProducerId)) << type;
    EXPECT_FALSE(shard_->apply(key(static_cast<std::int16_t>(type)), std::nullopt, kNoProducerId)) << type;
  }
  EXPECT_FALSE(shard_->apply({}, std::nullopt, kNoProducerId));
  EXPECT_TRUE(shard_->groups().empty());
}

TEST_F(ShardTest, RecordsThatCannotBeReadChangeNothing) {
  const std::string member = enter("g");
  const Record good = log_.back().record;
  ASSERT_TRUE(good.value);
  for (std::size_t size = 0; size < good.value->size(); ++size) {
    EXPECT_FALSE(shard_->apply(good.key, Bytes(*good.value).first(size), kNoProducerId)) << size;
  }
  for (std::size_t size = 0; size < good.key.size(); ++size) {
    EXPECT_FALSE(shard_->apply(Bytes(good.key).first(size), Bytes(*good.value), kNoProducerId)) << size;
  }
  EXPECT_EQ(heartbeat("g", member, 1), ErrorCode::NONE);
}

TEST_F(ShardTest, ATransactionOfAnAdoptedLogEndsWithItsMarker) {
  EXPECT_TRUE(see_commit("g", 10, 77));
  EXPECT_TRUE(has("g"));
  EXPECT_EQ(offset_of("g"), std::nullopt);
  EXPECT_TRUE(shard_->offsets().is_unstable("g", "orders", 0));
  see({{}, 77, true});
  EXPECT_EQ(offset_of("g"), 10);
  restart();
  EXPECT_EQ(offset_of("g"), 10);
}

TEST_F(ShardTest, AGroupWithAnOpenTransactionDoesNotExpire) {
  EXPECT_TRUE(see_commit("g", 10, 77));
  pass(std::chrono::milliseconds(settings_.offsets_retention_ms) * 2);
  EXPECT_TRUE(has("g"));
  see({{}, 77, false});
  pass(settings_.offsets_retention_check * 2);
  EXPECT_FALSE(has("g"));
}

}  // namespace
}  // namespace tailrace::groupcoord
