// What a classic group is between rebalances: heartbeats, leaving, commits, what is read of it, and what a restart
// brings back.
#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "services/groupcoord/classic_replies.h"
#include "services/kafka/messages/consumer_protocol.h"
#include "tests/unit/support/classic_world.h"

namespace tailrace::groupcoord {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A subscription as consumers send it, of any version.
std::string subscription(const std::vector<std::string_view>& topics, std::int16_t version = 0) {
  kafka::Buffer bytes;
  store_big_endian(bytes.extend(2), version);
  kafka::encode(kafka::ConsumerProtocolSubscription{.topics = topics}, version, bytes);
  return std::string(as_text(bytes.bytes()));
}

// -- Heartbeats and sessions ----------------------------------------------------------------------------------------

TEST(ClassicGroup, HeartbeatsKeepAMember) {
  ClassicWorld world;
  Joiner joiner;
  const std::int32_t generation = world.make_stable({&joiner});
  for (int i = 0; i < 10; ++i) {
    world.pass(milliseconds(9'999));
    EXPECT_EQ(world.heartbeat(joiner.id, generation), ErrorCode::NONE);
  }
  world.pass(seconds(10));
  EXPECT_EQ(world.heartbeat(joiner.id, generation), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.state(), "Empty");
}

TEST(ClassicGroup, AMemberThatFailsMakesTheOthersJoinAgain) {
  ClassicWorld world;
  Joiner first;
  Joiner second;
  const std::int32_t generation = world.make_stable({&first, &second});
  world.pass(seconds(6));
  world.heartbeat(first.id, generation);
  world.pass(seconds(5));
  EXPECT_EQ(world.heartbeat(first.id, generation), ErrorCode::REBALANCE_IN_PROGRESS);
  const Token token = world.join(first);
  EXPECT_EQ(world.joined(token).members.size(), 1u);
}

TEST(ClassicGroup, HeartbeatsOfAnotherGenerationAreRefused) {
  ClassicWorld world;
  Joiner joiner;
  const std::int32_t generation = world.make_stable({&joiner});
  EXPECT_EQ(world.heartbeat(joiner.id, generation - 1), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(world.heartbeat(joiner.id, generation + 1), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(world.heartbeat("stranger", generation), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.heartbeat(joiner.id, generation, "instance"), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(ClassicGroup, HeartbeatsCountBeforeTheAssignment) {
  ClassicWorld world;
  Joiner joiner;
  world.enter(joiner);
  world.pass(seconds(3));
  EXPECT_EQ(world.state(), "CompletingRebalance");
  EXPECT_EQ(world.heartbeat(joiner.id, 1), ErrorCode::NONE);
}

// -- Leaving --------------------------------------------------------------------------------------------------------

TEST(ClassicGroup, SeveralMembersLeaveAtOnce) {
  ClassicWorld world;
  Joiner a;
  Joiner b;
  Joiner c{.instance = "c"};
  world.enter(a);
  world.enter(b);
  world.join(c);
  world.pass(seconds(6));
  const auto& response =
      world.leave({{a.id, std::nullopt}, {"stranger", std::nullopt}, {"", "c"}, {b.id, "c"}, {a.id, std::nullopt}});
  EXPECT_EQ(response.error_code, 0);
  ASSERT_EQ(response.members.size(), 5u);
  const auto error = [&](std::size_t i) { return static_cast<ErrorCode>(response.members[i].error_code); };
  EXPECT_EQ(error(0), ErrorCode::NONE);
  EXPECT_EQ(error(1), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(error(2), ErrorCode::NONE);
  EXPECT_EQ(error(3), ErrorCode::UNKNOWN_MEMBER_ID);  // no instance of that name any more
  EXPECT_EQ(error(4), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(response.members[2].group_instance_id, "c");
  EXPECT_EQ(response.members[2].member_id, "");
  EXPECT_EQ(world.group().members().size(), 1u);
  EXPECT_EQ(world.state(), "PreparingRebalance");
}

TEST(ClassicGroup, EveryVersionCanLeave) {
  for (std::int16_t version = 0; version <= 5; ++version) {
    ClassicWorld world;
    Joiner joiner;
    world.make_stable({&joiner});
    EXPECT_EQ(world.leave_one("stranger", std::nullopt, version), ErrorCode::UNKNOWN_MEMBER_ID);
    EXPECT_EQ(world.leave_one(joiner.id, std::nullopt, version), ErrorCode::NONE);
    EXPECT_EQ(world.state(), "Empty");
  }
}

TEST(ClassicGroup, LeavingWithNobodyInTheRequestChangesNothing) {
  ClassicWorld world;
  Joiner joiner;
  world.make_stable({&joiner});
  EXPECT_TRUE(world.leave({}).members.empty());
  EXPECT_EQ(world.state(), "Stable");
}

TEST(ClassicGroup, APendingMemberMayLeave) {
  ClassicWorld world;
  const Token token = world.join({});
  EXPECT_EQ(world.leave_one(std::string(world.joined(token).member_id)), ErrorCode::NONE);
  EXPECT_EQ(world.group().members().pending(), 0u);
  EXPECT_EQ(world.state(), "Empty");
  EXPECT_FALSE(world.group().next_deadline().has_value());
}

TEST(ClassicGroup, LeavingAGroupThatIsNotThere) {
  ClassicWorld world;
  const kafka::LeaveGroupRequest request{.group_id = "g", .members = {{.member_id = "m", .group_instance_id = "i"}}};
  Effects effects;
  const Call call = world.new_call(13, 5);
  refuse_leave_of_unknown(call, request, effects);
  const Call old = world.new_call(13, 2);
  refuse_leave_of_unknown(old, {.group_id = "g", .member_id = "m"}, effects);
  world.take(std::move(effects));
  const auto& response = world.answer<kafka::LeaveGroupResponse>(call.token);
  EXPECT_EQ(response.error_code, 0);
  EXPECT_EQ(response.members.at(0).error_code, 25);
  EXPECT_EQ(world.answer<kafka::LeaveGroupResponse>(old.token).error_code, 25);
}

// -- Commits --------------------------------------------------------------------------------------------------------

TEST(ClassicGroup, WhoMayCommit) {
  ClassicWorld world;
  ClassicGroup& group = world.group();
  const auto commit = [&](const Committer& who) { return group.on_commit(who, world.moment); };
  // Nobody is in it: from outside.
  EXPECT_EQ(commit({}), ErrorCode::NONE);
  EXPECT_EQ(commit({.member_id = "any"}), ErrorCode::NONE);
  EXPECT_EQ(commit({.member_id = "any", .generation = 0}), ErrorCode::UNKNOWN_MEMBER_ID);

  Joiner joiner;
  world.enter(joiner);
  EXPECT_EQ(commit({}), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit({.is_transactional = true}), ErrorCode::NONE);
  EXPECT_EQ(commit({.member_id = joiner.id, .generation = 0}), ErrorCode::NONE);  // of the generation before
  world.pass(seconds(3));
  EXPECT_EQ(commit({.member_id = joiner.id, .generation = 1}), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(commit({.member_id = joiner.id, .generation = 1, .is_transactional = true}), ErrorCode::NONE);
  world.sync(joiner.id, 1);
  EXPECT_EQ(commit({.member_id = joiner.id, .generation = 1}), ErrorCode::NONE);
  EXPECT_EQ(commit({.member_id = joiner.id, .generation = 0}), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(commit({.member_id = joiner.id}), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(commit({.member_id = "stranger", .generation = 1}), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit({.instance_id = "i"}), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(ClassicGroup, ACommitIsAsGoodAsAHeartbeat) {
  ClassicWorld world;
  Joiner joiner;
  const std::int32_t generation = world.make_stable({&joiner});
  world.pass(seconds(9));
  EXPECT_EQ(world.group().on_commit({.member_id = joiner.id, .generation = generation}, world.moment), ErrorCode::NONE);
  world.pass(seconds(9));
  EXPECT_EQ(world.heartbeat(joiner.id, generation), ErrorCode::NONE);
}

// -- Reading --------------------------------------------------------------------------------------------------------

TEST(ClassicGroup, DescribeShowsWhatThereIs) {
  ClassicWorld world;
  auto described = world.group().describe();
  EXPECT_EQ(described.group_id, "group");
  EXPECT_EQ(described.group_state, "Empty");
  EXPECT_EQ(described.protocol_type, "");
  EXPECT_EQ(described.error_code, 0);
  EXPECT_TRUE(described.members.empty());
  EXPECT_TRUE(world.group().is_simple());

  Joiner joiner{.instance = "i"};
  world.join(joiner);
  described = world.group().describe();
  EXPECT_EQ(described.group_state, "PreparingRebalance");
  EXPECT_EQ(described.protocol_type, "consumer");
  EXPECT_EQ(described.protocol_data, "");
  ASSERT_EQ(described.members.size(), 1u);
  EXPECT_TRUE(described.members[0].member_metadata.empty());

  world.pass(seconds(3));
  joiner.id = world.leader_id();
  world.sync(joiner.id, 1, {{joiner.id, "p0"}});
  described = world.group().describe();
  EXPECT_EQ(described.group_state, "Stable");
  EXPECT_EQ(described.protocol_data, "range");
  ASSERT_EQ(described.members.size(), 1u);
  EXPECT_EQ(described.members[0].member_id, joiner.id);
  EXPECT_EQ(described.members[0].group_instance_id, "i");
  EXPECT_EQ(described.members[0].client_id, "client");
  EXPECT_EQ(described.members[0].client_host, "/10.0.0.1");
  EXPECT_EQ(as_text(described.members[0].member_metadata), "range-metadata");
  EXPECT_EQ(as_text(described.members[0].member_assignment), "p0");
  EXPECT_FALSE(world.group().is_simple());

  world.join(joiner);  // the last assignment is still shown, the subscriptions are in the air
  described = world.group().describe();
  EXPECT_EQ(described.group_state, "CompletingRebalance");
  EXPECT_EQ(described.protocol_data, "");
  EXPECT_TRUE(described.members[0].member_metadata.empty());
}

TEST(ClassicGroup, ItMayBeDeletedWhenNobodyIsInIt) {
  ClassicWorld world;
  EXPECT_EQ(world.group().check_delete(), ErrorCode::NONE);
  Joiner joiner;
  world.enter(joiner);
  EXPECT_EQ(world.group().check_delete(), ErrorCode::NON_EMPTY_GROUP);
  world.pass(seconds(3));
  EXPECT_EQ(world.group().check_delete(), ErrorCode::NON_EMPTY_GROUP);
  world.leave_one(joiner.id);
  EXPECT_EQ(world.group().check_delete(), ErrorCode::NONE);
  Effects effects;
  world.group().append_tombstones(effects);
  ASSERT_EQ(effects.records.size(), 1u);
  EXPECT_FALSE(effects.records[0].value.has_value());
  const auto key = kafka::decode_group_key<kafka::GroupMetadataKey>(effects.records[0].key);
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->group, "group");
}

TEST(ClassicGroup, TopicsAreThoseOfAllMembers) {
  ClassicWorld world;
  EXPECT_FALSE(world.group().is_subscribed_to("a"));
  Joiner first{.protocols = {{"range", subscription({"a", "b"}, 3)}}};
  Joiner second{.protocols = {{"range", subscription({"b", "c"})}}};
  world.enter(first);
  world.enter(second);
  EXPECT_TRUE(world.group().is_subscribed_to("z"));  // not known yet: better not to delete anything
  world.pass(seconds(6));
  for (const char* topic : {"a", "b", "c"}) EXPECT_TRUE(world.group().is_subscribed_to(topic));
  EXPECT_FALSE(world.group().is_subscribed_to("z"));
  world.sync(first.id, 1);
  world.restart();
  EXPECT_TRUE(world.group().is_subscribed_to("c"));
  EXPECT_FALSE(world.group().is_subscribed_to("z"));
  world.leave({{first.id, std::nullopt}, {second.id, std::nullopt}});
  EXPECT_FALSE(world.group().is_subscribed_to("a"));
}

TEST(ClassicGroup, ASubscriptionThatNobodyCanReadLeavesTheTopicsUnknown) {
  for (const std::string& metadata : {std::string(), std::string("\0", 1), subscription({"a"}).substr(0, 7)}) {
    ClassicWorld world;
    Joiner joiner{.protocols = {{"range", metadata}}};
    world.make_stable({&joiner});
    EXPECT_TRUE(world.group().is_subscribed_to("any"));
    EXPECT_EQ(world.group().unused_since(5), std::nullopt);
  }
}

TEST(ClassicGroup, SinceWhenOffsetsAreUnused) {
  ClassicWorld world;
  EXPECT_EQ(world.group().unused_since(5), 5);  // nobody ever joins
  Joiner joiner{.protocols = {{"range", subscription({"a"})}}};
  world.enter(joiner);
  EXPECT_EQ(world.group().unused_since(5), std::nullopt);
  world.pass(seconds(3));
  EXPECT_EQ(world.group().unused_since(5), std::nullopt);
  world.sync(joiner.id, 1);
  EXPECT_EQ(world.group().unused_since(5), 5);  // of topics that it is not subscribed to
  world.leave_one(joiner.id);
  const TimestampMs left_ms = world.moment.wall_ms;
  world.pass(seconds(50));
  EXPECT_EQ(world.group().unused_since(5), left_ms);
  world.restart();
  EXPECT_EQ(world.group().unused_since(5), left_ms);

  ClassicWorld connect;
  Joiner worker{.protocols = {{"range", subscription({"a"})}}, .type = "connect"};
  connect.make_stable({&worker});
  EXPECT_EQ(connect.group().unused_since(5), std::nullopt);
}

// -- The record -----------------------------------------------------------------------------------------------------

TEST(ClassicGroup, AGroupIsWrittenAsItIsMade) {
  ClassicWorld world;
  Effects effects;
  world.group().create(world.moment, effects);
  world.take(std::move(effects));
  const auto value = world.last_value();
  EXPECT_EQ(value.protocol_type, "");
  EXPECT_EQ(value.protocol, std::nullopt);
  EXPECT_EQ(value.leader, std::nullopt);
  EXPECT_EQ(value.generation, 0);
  EXPECT_EQ(value.current_state_timestamp, world.moment.wall_ms);
  EXPECT_TRUE(value.members.empty());
  world.restart();
  EXPECT_EQ(world.state(), "Empty");
  EXPECT_TRUE(world.group().is_simple());
}

TEST(ClassicGroup, ARestartBringsBackTheLastGeneration) {
  ClassicWorld world;
  Joiner leader;
  Joiner follower;
  const std::int32_t generation = world.make_stable({&leader, &follower});
  world.pass(seconds(9));
  world.restart();
  EXPECT_EQ(world.state(), "Stable");
  EXPECT_EQ(world.leader_id(), leader.id);
  world.pass(seconds(9));  // sessions have begun anew
  EXPECT_EQ(world.heartbeat(leader.id, generation), ErrorCode::NONE);
  EXPECT_EQ(world.heartbeat(follower.id, generation), ErrorCode::NONE);
  EXPECT_EQ(world.assigned(world.sync(follower.id, generation)), "for-" + follower.id);
  // Who does not come back is gone.
  world.pass(seconds(6));
  world.heartbeat(leader.id, generation);
  world.pass(seconds(4));
  EXPECT_EQ(world.heartbeat(follower.id, generation), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(ClassicGroup, ARestartForgetsARebalance) {
  ClassicWorld world;
  Joiner leader;
  const std::int32_t generation = world.make_stable({&leader});
  Joiner other;
  world.enter(other);
  world.restart();
  EXPECT_EQ(world.state(), "Stable");
  EXPECT_EQ(world.heartbeat(leader.id, generation), ErrorCode::NONE);
  EXPECT_EQ(world.join_error(world.join(other)), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(ClassicGroup, RecordsOfOldVersionsAreRead) {
  for (std::int16_t version = 0; version <= 4; ++version) {
    const kafka::GroupMetadataValue value{
        .protocol_type = "consumer",
        .generation = 7,
        .protocol = "range",
        .leader = "b",
        .current_state_timestamp = 99,
        .members = {{.member_id = "a", .session_timeout = 6'000, .subscription = as_bytes("s"), .assignment = {}},
                    {.member_id = "b", .rebalance_timeout = 9'000, .session_timeout = 6'000}}};
    kafka::Buffer bytes;
    ASSERT_TRUE(kafka::encode_group_value(value, version, bytes));
    const auto read = kafka::decode_group_value<kafka::GroupMetadataValue>(bytes.bytes());
    ASSERT_TRUE(read.has_value());
    ClassicWorld world;
    ASSERT_TRUE(world.group().load(*read));
    Effects effects;
    world.group().on_loaded(world.moment, effects);
    EXPECT_EQ(world.state(), "Stable");
    EXPECT_EQ(world.group().generation(), 7);
    EXPECT_EQ(world.leader_id(), "b");
    EXPECT_EQ(world.group().members().find("a")->rebalance_timeout_ms, 6'000);
    EXPECT_EQ(world.group().members().find("b")->rebalance_timeout_ms, version == 0 ? 6'000 : 9'000);
    EXPECT_EQ(world.heartbeat("a", 7), ErrorCode::NONE);
    world.pass(seconds(6));
    EXPECT_EQ(world.state(), "Empty");
    EXPECT_EQ(world.group().generation(), 8);
  }
}

TEST(ClassicGroup, ARecordThatContradictsItselfIsNotTaken) {
  using Value = kafka::GroupMetadataValue;
  const Value cases[] = {
      {.protocol_type = "consumer", .protocol = std::nullopt, .members = {{.member_id = "a"}}},
      {.protocol_type = "consumer", .protocol = "range", .members = {{.member_id = "a"}, {.member_id = "a"}}},
      {.protocol_type = "consumer", .protocol = "range", .members = {{.member_id = ""}}},
      {.protocol_type = "consumer",
       .protocol = "range",
       .members = {{.member_id = "a", .group_instance_id = "i"}, {.member_id = "b", .group_instance_id = "i"}}}};
  for (const Value& value : cases) {
    ClassicWorld world;
    Joiner joiner;
    const std::int32_t generation = world.make_stable({&joiner});
    EXPECT_FALSE(world.group().load(value));
    EXPECT_EQ(world.heartbeat(joiner.id, generation), ErrorCode::NONE);
  }
}

TEST(ClassicGroup, ALeaderThatIsNoMemberIsReplaced) {
  ClassicWorld world;
  ASSERT_TRUE(world.group().load({.protocol_type = "consumer",
                                  .generation = std::numeric_limits<std::int32_t>::max(),
                                  .protocol = "range",
                                  .leader = "gone",
                                  .members = {{.member_id = "a", .session_timeout = 6'000}}}));
  EXPECT_EQ(world.leader_id(), "a");
  world.join({.id = "a"});
  EXPECT_EQ(world.group().generation(), 0);  // there is none after the last
}

// -- Between the protocols (KIP-848) --------------------------------------------------------------------------------

TEST(ClassicGroup, MembersOfAConsumerGroupGoOnHere) {
  ClassicWorld world;
  const std::string wanted = subscription({"a"});
  const auto metadata = as_bytes(wanted);
  const ClassicProtocol range{"range", {metadata.begin(), metadata.end()}};
  const auto assignment = as_bytes("p0");
  std::vector<ClassicMember> members;
  members.push_back({.id = "a",
                     .rebalance_timeout_ms = 9'000,
                     .session_timeout_ms = 6'000,
                     .protocols = {{"sticky", {}}, range},
                     .assignment = {assignment.begin(), assignment.end()}});
  members.push_back({.id = "b",
                     .instance_id = "i",
                     .rebalance_timeout_ms = 9'000,
                     .session_timeout_ms = 6'000,
                     .protocols = {range}});
  Effects effects;
  ASSERT_TRUE(world.group().take_over(42, members, world.moment, effects));
  EXPECT_EQ(effects.records.size(), 1u);
  world.take(std::move(effects));
  EXPECT_EQ(world.state(), "Stable");
  EXPECT_EQ(world.group().protocol_name(), "range");
  EXPECT_TRUE(world.group().is_subscribed_to("a"));
  EXPECT_EQ(world.heartbeat("a", 42), ErrorCode::NONE);
  EXPECT_EQ(world.assigned(world.sync("a", 42)), "p0");
  world.pass(seconds(6));
  EXPECT_EQ(world.state(), "Empty");

  Effects none;
  members[1].protocols = {{"other", {}}};
  EXPECT_FALSE(world.group().take_over(43, members, world.moment, none));
  EXPECT_FALSE(world.group().take_over(43, {}, world.moment, none));
  world.settings.record_size_max = 100;
  members[1].protocols = {range};
  EXPECT_FALSE(world.group().take_over(43, members, world.moment, none));
  EXPECT_TRUE(none.records.empty());
}

TEST(ClassicGroup, WhoWaitsIsSentAwayWhenTheGroupBecomesAnother) {
  ClassicWorld world;
  Joiner first;
  Joiner second;
  const Token a = world.enter(first);
  const Token b = world.enter(second);
  Effects effects;
  world.group().refuse_waiting(ErrorCode::REBALANCE_IN_PROGRESS, effects);
  world.take(std::move(effects));
  EXPECT_EQ(world.join_error(a), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(world.join_error(b), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(world.waiting(), 0u);
}

}  // namespace
}  // namespace tailrace::groupcoord
