// ListGroups, DescribeGroups, ConsumerGroupDescribe and DeleteGroups: what a shard says about its groups.
#include "services/groupcoord/group_answers.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/support/shard_world.h"

namespace tailrace::groupcoord {
namespace {

class GroupAnswersTest : public ShardWorld {
 protected:
  void SetUp() override {
    ShardWorld::SetUp();
    commit("a-tool", {.offset = 1});
    member_ = enter("b-consumers");
    enter("c-connect", "connect");
    join("d-new", "");
  }
  std::vector<std::string> list(const std::vector<std::string_view>& states,
                                const std::vector<std::string_view>& types = {}) {
    kafka::ListGroupsResponse response;
    list_groups(*shard_, {.states_filter = states, .types_filter = types}, response);
    std::vector<std::string> told;
    for (const auto& each : response.groups) {
      told.push_back(std::string(each.group_id) + '/' + std::string(each.protocol_type) + '/' +
                     std::string(each.group_state) + '/' + std::string(each.group_type));
    }
    return told;
  }

  std::string member_;
};

using Told = std::vector<std::string>;

TEST_F(GroupAnswersTest, GroupsAreListedByStateAndType) {
  const Told empty = {"a-tool//Empty/classic", "d-new//Empty/classic"};
  const Told stable = {"b-consumers/consumer/Stable/classic", "c-connect/connect/Stable/classic"};
  const Told all = {empty[0], stable[0], stable[1], empty[1]};
  EXPECT_EQ(list({}), all);
  EXPECT_EQ(list({"Empty"}), empty);
  EXPECT_EQ(list({" sTABLE\t"}), stable);
  EXPECT_EQ(list({"stable", "EMPTY", "Stable"}), all);
  EXPECT_EQ(list({"Dead", "PreparingRebalance", "nonsense", ""}), Told{});
  EXPECT_EQ(list({}, {"Classic"}), all);
  EXPECT_EQ(list({}, {"consumer", "share", "streams"}), Told{});
  EXPECT_EQ(list({}, {" classic"}), Told{});  // of types Kafka cuts no spaces
  EXPECT_EQ(list({}, {"nonsense"}), Told{});
  EXPECT_EQ(list({"stable"}, {"nonsense", "CLASSIC"}), stable);
  EXPECT_EQ(list({"stable"}, {"consumer"}), Told{});
}

TEST_F(GroupAnswersTest, AnAnswerHasTheGroupsOfAllShards) {
  kafka::ListGroupsResponse response;
  list_groups(*shard_, {}, response);
  list_groups(*shard_, {}, response);
  EXPECT_EQ(response.groups.size(), 8u);
}

TEST_F(GroupAnswersTest, AClassicGroupIsDescribed) {
  AnswerRoom room;
  const DescribedGroup group = describe_group(*shard_, "b-consumers", true, 6, room);
  EXPECT_EQ(group.error_code, 0);
  EXPECT_EQ(group.group_id, "b-consumers");
  EXPECT_EQ(group.group_state, "Stable");
  EXPECT_EQ(group.protocol_type, "consumer");
  EXPECT_EQ(group.protocol_data, "range");
  EXPECT_EQ(group.authorized_operations, 3'400);  // of Kafka 4.4: READ, DELETE, DESCRIBE, both of configurations
  ASSERT_EQ(group.members.size(), 1u);
  EXPECT_EQ(group.members[0].member_id, member_);
  EXPECT_EQ(group.members[0].client_id, "client");
  EXPECT_EQ(group.members[0].client_host, "/10.0.0.1");
  EXPECT_EQ(as_text(group.members[0].member_assignment), kAssignment);
  EXPECT_EQ(describe_group(*shard_, "b-consumers", false, 6, room).authorized_operations, kafka::kInt32Min);
  const DescribedGroup tool = describe_group(*shard_, "a-tool", false, 6, room);
  EXPECT_EQ(tool.group_state, "Empty");
  EXPECT_EQ(tool.protocol_type, "");
  EXPECT_TRUE(tool.members.empty());
}

TEST_F(GroupAnswersTest, AGroupThatIsNotThereIsDead) {
  for (const std::int16_t version : std::initializer_list<std::int16_t>{0, 5, 6}) {
    AnswerRoom room;
    const DescribedGroup group = describe_group(*shard_, "z", true, version, room);
    EXPECT_EQ(group.group_id, "z");
    EXPECT_EQ(group.group_state, "Dead");
    EXPECT_EQ(group.error_code, version < 6 ? 0 : wire(ErrorCode::GROUP_ID_NOT_FOUND));
    EXPECT_EQ(group.error_message.value_or(""), version < 6 ? "" : "Group z not found.");
    EXPECT_EQ(group.authorized_operations, version < 6 ? 3'400 : kafka::kInt32Min);
  }
}

TEST_F(GroupAnswersTest, AClassicGroupIsNoConsumerGroup) {
  AnswerRoom room;
  const DescribedConsumerGroup classic = describe_consumer_group(*shard_, "b-consumers", true, room);
  EXPECT_EQ(classic.error_code, wire(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(classic.error_message, "Group b-consumers is not a consumer group.");
  EXPECT_EQ(classic.authorized_operations, kafka::kInt32Min);
  const DescribedConsumerGroup none = describe_consumer_group(*shard_, "z", true, room);
  EXPECT_EQ(none.error_code, wire(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(none.error_message, "Group z not found.");
  const DescribedConsumerGroup nameless = describe_consumer_group(*shard_, "", true, room);
  EXPECT_EQ(nameless.error_code, wire(ErrorCode::INVALID_GROUP_ID));
  EXPECT_EQ(nameless.error_message, std::nullopt);
}

TEST_F(GroupAnswersTest, GroupsAreDeletedOneByOne) {
  Effects effects;
  EXPECT_EQ(delete_group(*shard_, "a-tool", effects).error_code, 0);
  EXPECT_EQ(delete_group(*shard_, "a-tool", effects).error_code, wire(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(delete_group(*shard_, "b-consumers", effects).error_code, wire(ErrorCode::NON_EMPTY_GROUP));
  EXPECT_EQ(delete_group(*shard_, "b-consumers", effects).group_id, "b-consumers");
  EXPECT_EQ(delete_group(*shard_, "", effects).error_code, wire(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(effects.records.size(), 2u);
}

// A request may name a large group as often as it likes.
TEST_F(GroupAnswersTest, AnAnswerThatIsTooLargeIsRefused) {
  AnswerRoom room;
  EXPECT_TRUE(room.take(AnswerRoom::kBytesMax - 100));
  const DescribedGroup group = describe_group(*shard_, "b-consumers", true, 6, room);
  EXPECT_EQ(group.error_code, wire(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(group.group_id, "b-consumers");
  EXPECT_TRUE(group.members.empty());
}

}  // namespace
}  // namespace tailrace::groupcoord
