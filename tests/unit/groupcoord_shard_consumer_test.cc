// A shard and groups of the consumer protocol (KIP-848): how they come, what they give way to, and what stays of them.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "services/groupcoord/consumer_group.h"
#include "tests/unit/support/shard_world.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ConsumerGroupHeartbeatRequest;
using kafka::ConsumerGroupHeartbeatResponse;

class ShardConsumerTest : public ShardWorld {
 protected:
  std::uint64_t beat(const ConsumerGroupHeartbeatRequest& request) {
    const Call made = call(68, 1);
    take(shard_->consumer_heartbeat(made, {.id = "client", .host = "/10.0.0.1"}, request, moment_));
    return made.token;
  }
  std::uint64_t begin(std::string_view group, std::string_view member) {
    return beat({.group_id = group,
                 .member_id = member,
                 .rebalance_timeout_ms = 60'000,
                 .subscribed_topic_names = {{"orders"}},
                 .topic_partitions = std::vector<ConsumerGroupHeartbeatRequest::TopicPartitions>{}});
  }
  ErrorCode go_on(std::string_view group, std::string_view member, std::int32_t epoch) {
    return error<ConsumerGroupHeartbeatResponse>(beat({.group_id = group, .member_id = member, .member_epoch = epoch}));
  }
  std::string group_told(const Shard& shard, std::string_view id) {
    AnswerRoom room;
    kafka::ConsumerGroupDescribeResponse response;
    response.groups.push_back(describe_consumer_group(shard, id, true, room));
    return kafka::to_json(response, 1);
  }
};

TEST_F(ShardConsumerTest, AHeartbeatOfEpochZeroMakesAGroup) {
  EXPECT_EQ(go_on("g", "m", 3), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(go_on("g", "m", -1), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_FALSE(has("g"));
  const auto response = answer<ConsumerGroupHeartbeatResponse>(begin("g", "m"));
  EXPECT_EQ(response.error_code, 0);
  EXPECT_EQ(response.member_id, "m");
  ASSERT_TRUE(has("g"));
  EXPECT_EQ(shard_->find("g")->type(), GroupType::consumer);
  const std::string told = group_told(*shard_, "g");
  EXPECT_NE(told.find("\"authorizedOperations\":3400"), std::string::npos) << told;
  EXPECT_EQ(group_told(*reload(), "g"), told);
  restart();
  EXPECT_EQ(group_told(*shard_, "g"), told);
  EXPECT_EQ(go_on("g", "m", response.member_epoch), ErrorCode::NONE);
}

TEST_F(ShardConsumerTest, ARefusedHeartbeatMakesNone) {
  EXPECT_EQ(error<ConsumerGroupHeartbeatResponse>(beat({.group_id = "g", .member_id = "m"})),
            ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error<ConsumerGroupHeartbeatResponse>(beat({.group_id = "", .member_id = "m"})),
            ErrorCode::INVALID_REQUEST);
  EXPECT_TRUE(shard_->groups().empty());
  EXPECT_TRUE(log_.empty());
}

TEST_F(ShardConsumerTest, MembersLiveByTheirHeartbeats) {
  const std::int32_t epoch = answer<ConsumerGroupHeartbeatResponse>(begin("g", "m")).member_epoch;
  for (int i = 0; i < 5; ++i) {
    pass(std::chrono::seconds(40));
    EXPECT_EQ(go_on("g", "m", epoch), ErrorCode::NONE);
  }
  pass(std::chrono::seconds(46));
  EXPECT_EQ(shard_->find("g")->state(), "Empty");
  restart();
  EXPECT_EQ(shard_->find("g")->state(), "Empty");
  EXPECT_EQ(go_on("g", "m", epoch), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(ShardConsumerTest, MembersCommitInTheirEpoch) {
  const std::int32_t epoch = answer<ConsumerGroupHeartbeatResponse>(begin("g", "m")).member_epoch;
  EXPECT_EQ(commit("g", {.offset = 5, .member = "m", .generation = epoch}), ErrorCode::NONE);
  EXPECT_EQ(commit("g", {.offset = 6, .member = "m", .generation = epoch + 1}), ErrorCode::STALE_MEMBER_EPOCH);
  EXPECT_EQ(commit("g", {.offset = 6, .member = "m", .generation = epoch, .version = 8}),
            ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(commit("g", {.offset = 6, .member = "n", .generation = epoch}), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(offset_of("g"), 5);
  AnswerRoom room;
  const WantedOffsets right{.group_id = "g", .member_id = "m", .member_epoch = epoch, .topics = std::nullopt};
  EXPECT_EQ(fetch_offsets(*shard_, right, true, 9, room).error_code, 0);
  const WantedOffsets stale{.group_id = "g", .member_id = "m", .member_epoch = epoch + 1, .topics = std::nullopt};
  EXPECT_EQ(fetch_offsets(*shard_, stale, true, 9, room).error_code, wire(ErrorCode::STALE_MEMBER_EPOCH));
  const WantedOffsets stranger{.group_id = "g", .member_id = "n", .member_epoch = epoch, .topics = std::nullopt};
  EXPECT_EQ(fetch_offsets(*shard_, stranger, true, 9, room).error_code, wire(ErrorCode::UNKNOWN_MEMBER_ID));
  EXPECT_EQ(delete_offset("g", "orders", 0), ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
}

TEST_F(ShardConsumerTest, AnEmptyClassicGroupGivesWayAndItsOffsetsStay) {
  commit("g", {.offset = 5});
  const std::string member = enter("g");
  leave("g", member);
  EXPECT_EQ(go_on("g", "m", 3), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(shard_->find("g")->type(), GroupType::classic);
  EXPECT_EQ(error<ConsumerGroupHeartbeatResponse>(begin("g", "m")), ErrorCode::NONE);
  EXPECT_EQ(shard_->find("g")->type(), GroupType::consumer);
  EXPECT_EQ(offset_of("g"), 5);
  const std::string told = group_told(*shard_, "g");
  restart();
  EXPECT_EQ(shard_->find("g")->type(), GroupType::consumer);
  EXPECT_EQ(offset_of("g"), 5);
  EXPECT_EQ(group_told(*shard_, "g"), told);
}

TEST_F(ShardConsumerTest, AnEmptyConsumerGroupGivesWayAndItsOffsetsStay) {
  const std::int32_t epoch = answer<ConsumerGroupHeartbeatResponse>(begin("g", "m")).member_epoch;
  commit("g", {.offset = 5, .member = "m", .generation = epoch});
  EXPECT_EQ(go_on("g", "m", -1), ErrorCode::NONE);
  EXPECT_EQ(shard_->find("g")->state(), "Empty");
  EXPECT_EQ(error<kafka::JoinGroupResponse>(join("g", "somebody")), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(shard_->find("g")->type(), GroupType::consumer);
  enter("g");
  EXPECT_EQ(shard_->find("g")->type(), GroupType::classic);
  EXPECT_EQ(offset_of("g"), 5);
  restart();
  EXPECT_EQ(shard_->find("g")->type(), GroupType::classic);
  EXPECT_EQ(shard_->find("g")->state(), "Stable");
  EXPECT_EQ(offset_of("g"), 5);
}

TEST_F(ShardConsumerTest, RequestsOfTheOtherProtocolKnowNobody) {
  begin("g", "m");
  EXPECT_EQ(error<kafka::SyncGroupResponse>(sync("g", "n", 1, true)), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat("g", "n", 1), ErrorCode::UNKNOWN_MEMBER_ID);
  go_on("g", "m", -1);
  EXPECT_EQ(error<kafka::SyncGroupResponse>(sync("g", "m", 1, true)), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat("g", "m", 1), ErrorCode::UNKNOWN_MEMBER_ID);
  const auto left = answer<kafka::LeaveGroupResponse>(leave("g", "m"));
  ASSERT_EQ(left.members.size(), 1u);
  EXPECT_EQ(left.members[0].error_code, wire(ErrorCode::UNKNOWN_MEMBER_ID));
}

TEST_F(ShardConsumerTest, AGroupIsConvertedWhileItLivesAndBack) {
  const std::string member = enter("g");
  commit("g", {.offset = 5, .member = member, .generation = 1});
  EXPECT_EQ(error<ConsumerGroupHeartbeatResponse>(begin("g", "m")), ErrorCode::NONE);
  EXPECT_EQ(shard_->find("g")->type(), GroupType::consumer);
  std::string told = group_told(*shard_, "g");
  EXPECT_EQ(group_told(*reload(), "g"), told);
  EXPECT_EQ(offset_of("g"), 5);
  EXPECT_EQ(go_on("g", "m", -1), ErrorCode::NONE);
  EXPECT_EQ(shard_->find("g")->type(), GroupType::classic);
  EXPECT_EQ(reload()->find("g")->type(), GroupType::classic);
  EXPECT_EQ(offset_of("g"), 5);
  pass(std::chrono::minutes(5));  // its deadlines are those of the classic group now
  EXPECT_EQ(shard_->find("g")->state(), "Empty");
}

TEST_F(ShardConsumerTest, WithoutThePolicyNothingIsConverted) {
  settings_.may_upgrade = false;
  enter("g");
  const auto response = answer<ConsumerGroupHeartbeatResponse>(begin("g", "m"));
  EXPECT_EQ(response.error_code, wire(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(response.error_message,
            "Cannot upgrade classic group g to consumer group because online upgrade is disabled.");
  EXPECT_EQ(shard_->find("g")->type(), GroupType::classic);
}

TEST_F(ShardConsumerTest, AProtocolThatIsDisabledIsRefused) {
  begin("g", "m");
  settings_.serves_consumer_protocol = false;
  EXPECT_EQ(error<ConsumerGroupHeartbeatResponse>(begin("h", "m")), ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_FALSE(has("h"));
  AnswerRoom room;
  EXPECT_EQ(describe_consumer_group(*shard_, "g", true, room).error_code, wire(ErrorCode::UNSUPPORTED_VERSION));
}

TEST_F(ShardConsumerTest, AnEmptyGroupIsDeletedOrExpires) {
  for (const bool expires : {false, true}) {
    const std::int32_t epoch = answer<ConsumerGroupHeartbeatResponse>(begin("g", "m")).member_epoch;
    commit("g", {.offset = 5, .member = "m", .generation = epoch});
    EXPECT_EQ(remove_group("g"), ErrorCode::NON_EMPTY_GROUP);
    go_on("g", "m", -1);
    if (expires) {
      pass(std::chrono::milliseconds(settings_.offsets_retention_ms) + settings_.offsets_retention_check);
    } else {
      EXPECT_EQ(remove_group("g"), ErrorCode::NONE);
    }
    EXPECT_FALSE(has("g"));
    EXPECT_FALSE(shard_->offsets().has_any("g"));
    restart();
    EXPECT_FALSE(has("g"));
    EXPECT_FALSE(shard_->offsets().has_any("g"));
  }
}

TEST_F(ShardConsumerTest, BothKindsAreListedAndDescribed) {
  begin("new", "m");
  enter("old");
  kafka::ListGroupsResponse response;
  const std::vector<std::string_view> types = {"CONSUMER"};
  list_groups(*shard_, {.types_filter = types}, response);
  ASSERT_EQ(response.groups.size(), 1u);
  EXPECT_EQ(response.groups[0].group_id, "new");
  EXPECT_EQ(response.groups[0].group_type, "consumer");
  EXPECT_EQ(response.groups[0].protocol_type, "consumer");
  AnswerRoom room;
  const DescribedGroup group = describe_group(*shard_, "new", false, 6, room);
  EXPECT_EQ(group.error_code, wire(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(group.error_message, "Group new is not a classic group.");
  EXPECT_EQ(group.group_state, "Dead");
  EXPECT_TRUE(room.take(AnswerRoom::kBytesMax - 500));
  EXPECT_EQ(describe_consumer_group(*shard_, "new", false, room).error_code, wire(ErrorCode::INVALID_REQUEST));
}

// Records in an order that no broker writes them in.
TEST_F(ShardConsumerTest, RecordsOfBothKindsUnderOneName) {
  begin("g", "m");
  const std::vector<Logged> of_consumer = log_;
  log_.clear();
  start();
  for (const Logged& each : of_consumer) {
    EXPECT_TRUE(shard_->apply(each.record.key, std::nullopt, kNoProducerId));  // tombstones of what there is not
    EXPECT_FALSE(has("g"));
  }
  EXPECT_TRUE(see_commit("g", 3));
  for (const Logged& each : of_consumer) EXPECT_TRUE(shard_->apply(each.record.key, std::nullopt, kNoProducerId));
  EXPECT_EQ(shard_->find("g")->type(), GroupType::classic);
  for (const Logged& each : of_consumer) EXPECT_TRUE(feed(each, *shard_));
  EXPECT_EQ(shard_->find("g")->type(), GroupType::consumer);
  EXPECT_EQ(offset_of("g"), 3);
  EXPECT_TRUE(see({record_of(kafka::GroupMetadataKey{.group = "g"},
                             kafka::GroupMetadataValue{.protocol_type = "consumer", .generation = 8}, 3)}));
  EXPECT_EQ(shard_->find("g")->type(), GroupType::classic);
  for (const Logged& each : of_consumer) EXPECT_TRUE(feed(each, *shard_));
  EXPECT_TRUE(see({record_of(kafka::GroupMetadataKey{.group = "g"})}));
  EXPECT_FALSE(has("g"));
  load();
  EXPECT_TRUE(has("g"));
  EXPECT_EQ(offset_of("g"), 3);
}

}  // namespace
}  // namespace tailrace::groupcoord
