// Groups whose members change from the classic to the consumer protocol and back while they work, told as requests and
// answers.
#include "services/groupcoord/conversion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/consumer_subscription.h"
#include "services/kafka/consumer_protocol.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/sync_group.h"
#include "tests/unit/consumer_group_world.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;

std::vector<std::byte> bytes_of(const kafka::Buffer& buffer) { return {buffer.bytes().begin(), buffer.bytes().end()}; }

struct JoinAnswer {
  ErrorCode error;
  std::string member_id;
  std::int32_t generation = 0;
  std::string protocol;
};
struct SyncAnswer {
  ErrorCode error;
  Assignment assignment;
};

class Conversion : public ::testing::Test {
 protected:
  Conversion() {
    world_.set_topic("orders", 4);
    orders_ = world_.id("orders");
  }

  std::vector<std::byte> subscription(const Assignment& owned, std::int16_t version = 3) {
    kafka::ConsumerProtocolSubscription message{.topics = {"orders"}};
    if (!owned.empty()) message.owned_partitions.push_back({.topic = "orders", .partitions = owned.at(orders_)});
    kafka::Buffer buffer;
    EXPECT_TRUE(kafka::encode_consumer_protocol(message, version, buffer));
    return bytes_of(buffer);
  }

  ClassicMember classic_member(const std::string& id, const Assignment& assigned) {
    ClassicMember member;
    member.id = id;
    member.client_id = "c";
    member.client_host = "/10.0.0.1";
    member.rebalance_timeout_ms = 60'000;
    member.session_timeout_ms = 30'000;
    member.protocols = {{"cooperative-sticky", subscription({})}, {"range", subscription({})}};
    if (!assigned.empty()) {
      member.assignment = assignment_bytes(assigned, member.protocols[0].metadata, *world_.context.image);
    }
    return member;
  }
  // Stable, of generation 7.
  std::unique_ptr<ClassicGroup> classic_group(std::vector<ClassicMember> members) {
    auto group = std::make_unique<ClassicGroup>(world_.context, "g");
    Effects effects;
    EXPECT_TRUE(group->take_over(7, std::move(members), world_.moment, effects));
    keep(effects);
    return group;
  }

  // Makes it a consumer group by the first heartbeat of a member.
  ErrorCode upgrade_by(ClassicGroup& classic, const HeartbeatWords& words, std::string* message = nullptr) {
    Effects effects;
    auto upgraded = upgrade(classic, world_.context, words.request(), world_.moment, effects);
    if (!upgraded) {
      EXPECT_TRUE(effects.records.empty());
      if (message != nullptr) *message = upgraded.error().message;
      return upgraded.error().error;
    }
    group_ = std::move(*upgraded);
    keep(effects);
    answer_ = send(words);
    return answer_.error;
  }

  void keep(Effects& effects) {
    for (Record& record : effects.records) world_.log.push_back(std::move(record));
  }
  void take(Effects& effects) {
    keep(effects);
    successor_ = group_->take_successor();
    if (successor_ == nullptr) {
      EXPECT_TRUE(group_->has_same_fold(*world_.reloaded("g")));
    }
  }
  Call call(std::int16_t version) { return {.token = ++token_, .api_key = 0, .api_version = version}; }

  HeartbeatAnswer send(const HeartbeatWords& words) {
    Effects effects;
    group_->heartbeat(call(1), {.id = "c", .host = "/10.0.0.1"}, words.request(), world_.moment, effects);
    EXPECT_EQ(effects.replies.size(), 1u);
    const HeartbeatAnswer answer = read_answer(effects.replies.front());
    take(effects);
    return answer;
  }
  JoinAnswer join(const std::string& id, const Assignment& owned, std::optional<std::string> instance_id = {},
                  const std::string& protocol = "range", std::int16_t version = 9) {
    const std::vector<std::byte> metadata = subscription(owned);
    kafka::JoinGroupRequest request{.group_id = "g",
                                    .session_timeout_ms = 30'000,
                                    .rebalance_timeout_ms = 60'000,
                                    .member_id = id,
                                    .group_instance_id = instance_id,
                                    .protocol_type = "consumer"};
    request.protocols.push_back({.name = protocol, .metadata = metadata});
    Effects effects;
    group_->join(call(version), {.id = "c", .host = "/10.0.0.1"}, request, world_.moment, effects);
    EXPECT_EQ(effects.replies.size(), 1u);
    const auto decoded = kafka::decode_exactly<kafka::JoinGroupResponse>(effects.replies[0].body.bytes(), version);
    EXPECT_TRUE(decoded.has_value());
    const JoinAnswer answer{static_cast<ErrorCode>(decoded->error_code), std::string(decoded->member_id),
                            decoded->generation_id, std::string(decoded->protocol_name.value_or(""))};
    take(effects);
    return answer;
  }
  SyncAnswer sync(const std::string& id, std::int32_t generation, const std::string& protocol = "range") {
    Effects effects;
    group_->sync(call(5),
                 {.group_id = "g",
                  .generation_id = generation,
                  .member_id = id,
                  .protocol_type = "consumer",
                  .protocol_name = protocol},
                 world_.moment, effects);
    EXPECT_EQ(effects.replies.size(), 1u);
    const auto decoded = kafka::decode_exactly<kafka::SyncGroupResponse>(effects.replies[0].body.bytes(), 5);
    EXPECT_TRUE(decoded.has_value());
    SyncAnswer answer{static_cast<ErrorCode>(decoded->error_code), {}};
    if (answer.error == ErrorCode::NONE) {
      answer.assignment = parse_assignment(decoded->assignment, *world_.context.image)->partitions;
    }
    take(effects);
    return answer;
  }
  ErrorCode beat(const std::string& id, std::int32_t generation) {
    Effects effects;
    group_->classic_heartbeat(call(4), {.group_id = "g", .generation_id = generation, .member_id = id}, world_.moment,
                              effects);
    EXPECT_EQ(effects.replies.size(), 1u);
    const auto decoded = kafka::decode_exactly<kafka::HeartbeatResponse>(effects.replies[0].body.bytes(), 4);
    take(effects);
    return static_cast<ErrorCode>(decoded->error_code);
  }
  std::vector<ErrorCode> leave(const std::vector<kafka::LeaveGroupRequest::MemberIdentity>& who) {
    Effects effects;
    group_->leave(call(5), {.group_id = "g", .members = who}, world_.moment, effects);
    EXPECT_EQ(effects.replies.size(), 1u);
    const auto decoded = kafka::decode_exactly<kafka::LeaveGroupResponse>(effects.replies[0].body.bytes(), 5);
    std::vector<ErrorCode> errors;
    for (const auto& member : decoded->members) errors.push_back(static_cast<ErrorCode>(member.error_code));
    take(effects);
    return errors;
  }
  void pass(std::int64_t milliseconds) {
    world_.pass(milliseconds);
    Effects effects;
    group_->on_time(world_.moment, effects);
    take(effects);
  }

  // A group of the classic members a and b, and of c, which came with the consumer protocol.
  void upgrade_with_c() {
    const auto classic =
        classic_group({classic_member("a", {{orders_, {0, 1}}}), classic_member("b", {{orders_, {2, 3}}})});
    ASSERT_EQ(upgrade_by(*classic, joining("c", {"orders"})), ErrorCode::NONE);
  }

  World world_;
  Uuid orders_;
  std::unique_ptr<ConsumerGroup> group_;
  std::unique_ptr<Group> successor_;
  HeartbeatAnswer answer_;
  std::uint64_t token_ = 0;
};

TEST_F(Conversion, AClassicGroupBecomesAConsumerGroupAndGoesBack) {
  upgrade_with_c();
  EXPECT_EQ(answer_.epoch, 8);
  EXPECT_EQ(answer_.assignment, Assignment{});  // a and b have all still
  EXPECT_EQ(group_->members().size(), 3u);

  // They hear that there is something to do: one of them has to give up a partition.
  EXPECT_EQ(beat("a", 6), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(beat("a", 7), ErrorCode::REBALANCE_IN_PROGRESS);
  JoinAnswer a = join("a", {{orders_, {0, 1}}});
  EXPECT_EQ(a.error, ErrorCode::NONE);
  EXPECT_EQ(a.protocol, "range");
  EXPECT_EQ(sync("a", a.generation).error, ErrorCode::NONE);
  JoinAnswer b = join("b", {{orders_, {2, 3}}});
  const SyncAnswer b_has = sync("b", b.generation);
  const Assignment& a_has = group_->target().of("a");

  // Whoever has given up joins again, without that partition, and is in the new epoch.
  a = join("a", a_has);
  EXPECT_EQ(a.generation, 8);
  EXPECT_EQ(sync("a", 8).assignment, a_has);
  b = join("b", b_has.assignment);
  EXPECT_EQ(b.generation, 8);
  EXPECT_EQ(sync("b", 8).assignment, b_has.assignment);
  EXPECT_EQ(send(alive("c", 8)).assignment->at(orders_).size(), 1u);
  EXPECT_EQ(group_->state(), "Stable");
  EXPECT_EQ(beat("a", 8), ErrorCode::NONE);
  kafka::ConsumerGroupDescribeResponse::DescribedGroup described;
  group_->describe(described);
  EXPECT_EQ(described.members[0].member_type, 0);
  EXPECT_EQ(described.members[2].member_type, 1);

  // c goes, and with it the consumer protocol.
  EXPECT_EQ(send(alive("c", kLeaveEpoch)).error, ErrorCode::NONE);
  ASSERT_NE(successor_, nullptr);
  EXPECT_EQ(successor_->type(), GroupType::classic);
  EXPECT_EQ(successor_->state(), "PreparingRebalance");
  const auto& classic = static_cast<const ClassicGroup&>(*successor_);
  EXPECT_EQ(classic.members().size(), 2u);
  EXPECT_EQ(classic.generation(), 8);
  EXPECT_EQ(world_.reloaded("g")->members().size(), 0u);
}

TEST_F(Conversion, WhoHasHeardOfNothingKeepsWhatItHas) {
  upgrade_with_c();
  send(alive("c", kLeaveEpoch));
  ASSERT_NE(successor_, nullptr);

  // The next one comes at once: nothing may be given to it before a and b know.
  ASSERT_EQ(upgrade_by(static_cast<ClassicGroup&>(*successor_), joining("d", {"orders"})), ErrorCode::NONE);
  EXPECT_EQ(answer_.assignment, Assignment{});
  EXPECT_EQ(without_epochs(group_->members().at("a").assigned), (Assignment{{orders_, {0, 1}}}));
  EXPECT_EQ(without_epochs(group_->members().at("b").assigned), (Assignment{{orders_, {2, 3}}}));

  // Nor if one of them had been asked to give up something, and the group went back before it did.
  join("a", {{orders_, {0, 1}}});
  send(alive("d", kLeaveEpoch));
  ASSERT_NE(successor_, nullptr);
  ASSERT_EQ(upgrade_by(static_cast<ClassicGroup&>(*successor_), joining("e", {"orders"})), ErrorCode::NONE);
  EXPECT_EQ(answer_.assignment, Assignment{});
  EXPECT_EQ(without_epochs(group_->members().at("a").assigned), (Assignment{{orders_, {0, 1}}}));
}

TEST_F(Conversion, ThePolicyMayForbidBoth) {
  world_.settings.may_upgrade = false;
  const auto classic = classic_group({classic_member("a", {})});
  std::string message;
  EXPECT_EQ(upgrade_by(*classic, joining("c", {"orders"}), &message), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(message, "Cannot upgrade classic group g to consumer group because online upgrade is disabled.");
  EXPECT_EQ(classic->members().size(), 1u);

  world_.settings.may_upgrade = true;
  world_.settings.may_downgrade = false;
  ASSERT_EQ(upgrade_by(*classic, joining("c", {"orders"})), ErrorCode::NONE);
  send(alive("c", kLeaveEpoch));
  EXPECT_EQ(successor_, nullptr);
  EXPECT_EQ(group_->members().size(), 1u);

  world_.settings.may_upgrade = false;
  EXPECT_EQ(join("d", {}).error, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
}

TEST_F(Conversion, GroupsThatAreNotOfConsumersStayAsTheyAre) {
  ClassicMember member = classic_member("a", {});
  member.protocols[0].metadata = {std::byte{0}};
  member.protocols[1].metadata = {};
  auto classic = classic_group({member});
  std::string message;
  EXPECT_EQ(upgrade_by(*classic, joining("c", {"orders"}), &message), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_NE(message.find("malformed"), std::string::npos);

  kafka::ConsumerProtocolAssignment assignment{.user_data = as_bytes("mine")};
  kafka::Buffer buffer;
  ASSERT_TRUE(kafka::encode_consumer_protocol(assignment, 1, buffer));
  member = classic_member("a", {});
  member.assignment = bytes_of(buffer);
  classic = classic_group({member});
  EXPECT_EQ(upgrade_by(*classic, joining("c", {"orders"}), &message), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_NE(message.find("custom assignor"), std::string::npos);
  member.assignment = {std::byte{9}};
  classic = classic_group({member});
  EXPECT_EQ(upgrade_by(*classic, joining("c", {"orders"})), ErrorCode::GROUP_ID_NOT_FOUND);
}

TEST_F(Conversion, ARefusedHeartbeatConvertsNothing) {
  const auto classic = classic_group({classic_member("a", {})});
  HeartbeatWords words = joining("c", {});
  words.regex = "(";
  EXPECT_EQ(upgrade_by(*classic, words), ErrorCode::INVALID_REGULAR_EXPRESSION);
  world_.settings.consumer_group_size_max = 1;
  EXPECT_EQ(upgrade_by(*classic, joining("c", {"orders"})), ErrorCode::GROUP_MAX_SIZE_REACHED);
  EXPECT_EQ(classic->members().size(), 1u);
}

TEST_F(Conversion, AnEmptyClassicGroupGivesWay) {
  ClassicGroup classic(world_.context, "g");
  EXPECT_EQ(upgrade_by(classic, joining("c", {"orders"})), ErrorCode::NONE);
  EXPECT_EQ(answer_.assignment, (Assignment{{orders_, {0, 1, 2, 3}}}));
}

TEST_F(Conversion, StaticMembersChangeTheProtocolWithoutMovingPartitions) {
  ClassicMember a = classic_member("a", {{orders_, {0, 1}}});
  a.instance_id = "i";
  ClassicMember b = classic_member("b", {{orders_, {2, 3}}});
  b.instance_id = "j";
  const auto classic = classic_group({a, b});
  HeartbeatWords words = joining("a2", {"orders"});
  words.instance_id = "i";
  ASSERT_EQ(upgrade_by(*classic, words), ErrorCode::NONE);
  EXPECT_EQ(answer_.epoch, 7);
  EXPECT_EQ(answer_.assignment, (Assignment{{orders_, {0, 1}}}));
  EXPECT_EQ(beat("b", 7), ErrorCode::NONE);

  // And back: nobody is left who speaks the consumer protocol, and nobody has to join again.
  const JoinAnswer back = join("", {{orders_, {0, 1}}}, "i");
  EXPECT_EQ(back.error, ErrorCode::NONE);
  EXPECT_EQ(back.generation, 7);
  ASSERT_NE(successor_, nullptr);
  EXPECT_EQ(successor_->state(), "Stable");
  const auto& now = static_cast<const ClassicGroup&>(*successor_);
  ASSERT_NE(now.members().find(back.member_id), nullptr);
  const auto assigned = parse_assignment(now.members().find(back.member_id)->assignment, *world_.context.image);
  EXPECT_EQ(assigned->partitions, (Assignment{{orders_, {0, 1}}}));
}

TEST_F(Conversion, JoinGroupIsRefusedWhereItMustBe) {
  upgrade_with_c();
  const JoinAnswer unnamed = join("", {});
  EXPECT_EQ(unnamed.error, ErrorCode::MEMBER_ID_REQUIRED);
  EXPECT_FALSE(unnamed.member_id.empty());
  EXPECT_EQ(group_->members().size(), 3u);
  EXPECT_EQ(join("d", {}, {}, "sticky").error, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(join("d", {}, "nobody").error, ErrorCode::UNKNOWN_MEMBER_ID);
  world_.settings.consumer_group_size_max = 3;
  EXPECT_EQ(join("d", {}).error, ErrorCode::GROUP_MAX_SIZE_REACHED);
  world_.settings.consumer_group_size_max = 4;
  EXPECT_EQ(join(unnamed.member_id, {}).error, ErrorCode::NONE);
  EXPECT_EQ(group_->members().size(), 4u);
}

TEST_F(Conversion, SyncGroupIsForMembersOfTheGeneration) {
  upgrade_with_c();
  EXPECT_EQ(sync("nobody", 7).error, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(sync("c", 8).error, ErrorCode::UNKNOWN_MEMBER_ID);  // it does not speak this protocol
  EXPECT_EQ(sync("a", 6).error, ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(sync("a", 7, "sticky").error, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(sync("a", 7, "cooperative-sticky").error, ErrorCode::REBALANCE_IN_PROGRESS);
}

TEST_F(Conversion, ClassicMembersThatDoNotJoinOrSyncInTimeAreRemoved) {
  upgrade_with_c();
  EXPECT_EQ(beat("a", 7), ErrorCode::REBALANCE_IN_PROGRESS);
  ASSERT_EQ(join("b", {}).error, ErrorCode::NONE);  // and never syncs
  for (int i = 0; i < 6; ++i) {
    pass(10'000);
    if (i == 5) break;
    beat("a", 7);
    beat("b", 8);
    send(alive("c", 8));
  }
  EXPECT_EQ(group_->members().size(), 1u);
  EXPECT_TRUE(group_->members().contains("c"));
}

TEST_F(Conversion, LeaveGroupTellsOfEachMember) {
  upgrade_with_c();
  EXPECT_EQ(
      leave({{.member_id = "a"}, {.member_id = "z"}, {.member_id = "a"}, {.member_id = "", .group_instance_id = "i"}}),
      (std::vector<ErrorCode>{ErrorCode::NONE, ErrorCode::UNKNOWN_MEMBER_ID, ErrorCode::NONE,
                              ErrorCode::UNKNOWN_MEMBER_ID}));
  EXPECT_EQ(group_->members().size(), 2u);
  EXPECT_EQ(leave({{.member_id = "c"}}), (std::vector<ErrorCode>{ErrorCode::NONE}));
  ASSERT_NE(successor_, nullptr);
}

TEST_F(Conversion, TheLastConsumerThatFallsSilentIsAReasonToo) {
  upgrade_with_c();
  for (int i = 0; i < 4; ++i) {
    pass(14'000);
    if (successor_ != nullptr) break;
    beat("a", 7);
    beat("b", 7);
  }
  ASSERT_NE(successor_, nullptr);
  EXPECT_EQ(static_cast<const ClassicGroup&>(*successor_).members().size(), 2u);
}

}  // namespace
}  // namespace tailrace::groupcoord
