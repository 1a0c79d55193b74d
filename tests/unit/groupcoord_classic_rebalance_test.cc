// A rebalance from its beginning to the assignment: whom it waits for, how long, and what becomes of those that are
// late.
#include <gtest/gtest.h>

#include "tests/unit/support/classic_world.h"

namespace tailrace::groupcoord {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// -- The initial delay ----------------------------------------------------------------------------------------------

TEST(ClassicRebalance, TheFirstOneWaitsForMoreMembers) {
  ClassicWorld world;
  Joiner first;
  const Token a = world.enter(first);
  world.pass(milliseconds(2'999));
  EXPECT_FALSE(world.is_answered(a));
  world.pass(milliseconds(1));
  EXPECT_EQ(world.join_error(a), ErrorCode::NONE);
}

TEST(ClassicRebalance, EachNewMemberProlongsTheFirstOne) {
  ClassicWorld world;
  Joiner first;
  const Token a = world.enter(first);
  world.pass(seconds(2));
  Joiner second;
  const Token b = world.enter(second);
  world.pass(seconds(1));  // 3 s: one has come, so 3 s more
  EXPECT_FALSE(world.is_answered(a));
  world.pass(milliseconds(2'999));
  EXPECT_FALSE(world.is_answered(a));
  world.pass(milliseconds(1));
  EXPECT_EQ(world.joined(a).generation_id, 1);
  EXPECT_EQ(world.joined(b).generation_id, 1);
  EXPECT_EQ(world.joined(a).members.size(), 2u);
}

TEST(ClassicRebalance, TheFirstOneEndsAtTheRebalanceTimeout) {
  ClassicWorld world;
  Joiner first{.rebalance_ms = 7'000};
  const Token a = world.enter(first);
  for (int i = 0; i < 7; ++i) {  // somebody comes each second
    EXPECT_FALSE(world.is_answered(a)) << i;
    Joiner other{.rebalance_ms = 7'000};
    world.enter(other);
    world.pass(seconds(1));
  }
  EXPECT_EQ(world.join_error(a), ErrorCode::NONE);
  EXPECT_EQ(world.joined(a).members.size(), 8u);
}

TEST(ClassicRebalance, WithoutADelayTheFirstOneIsOverAtOnce) {
  ClassicWorld world;
  world.settings.initial_rebalance_delay = Duration::zero();
  Joiner first;
  const Token a = world.enter(first);
  world.pass(Duration::zero());
  EXPECT_EQ(world.join_error(a), ErrorCode::NONE);
}

TEST(ClassicRebalance, WhoLeavesDuringTheDelayLeavesAnEmptyGroup) {
  ClassicWorld world;
  Joiner first;
  const Token a = world.enter(first);
  EXPECT_EQ(world.leave_one(first.id), ErrorCode::NONE);
  EXPECT_EQ(world.join_error(a), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.state(), "PreparingRebalance");
  world.pass(seconds(3));
  EXPECT_EQ(world.state(), "Empty");
  EXPECT_EQ(world.group().generation(), 1);
  EXPECT_EQ(world.last_value().generation, 1);
  EXPECT_TRUE(world.last_value().members.empty());
}

// -- Waiting for members --------------------------------------------------------------------------------------------

TEST(ClassicRebalance, ANewMemberMakesTheOthersJoinAgain) {
  ClassicWorld world;
  Joiner first;
  const std::int32_t generation = world.make_stable({&first});
  Joiner second;
  const Token b = world.enter(second);
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_EQ(world.heartbeat(first.id, generation), ErrorCode::REBALANCE_IN_PROGRESS);
  const Token a = world.join(first);
  EXPECT_EQ(world.joined(a).generation_id, generation + 1);
  EXPECT_EQ(world.joined(b).generation_id, generation + 1);
  EXPECT_EQ(world.state(), "CompletingRebalance");
  EXPECT_EQ(world.joined(a).leader, first.id);
}

TEST(ClassicRebalance, WhoDoesNotComeBackInTimeIsLeftOut) {
  ClassicWorld world;
  Joiner first{.session_ms = 60'000, .rebalance_ms = 20'000};
  Joiner second{.session_ms = 60'000, .rebalance_ms = 20'000};
  const std::int32_t generation = world.make_stable({&first, &second});
  Joiner third{.rebalance_ms = 20'000};
  const Token c = world.enter(third);
  const Token b = world.join(second);
  world.pass(milliseconds(19'999));
  EXPECT_FALSE(world.is_answered(c));
  world.pass(milliseconds(1));
  EXPECT_EQ(world.join_error(c), ErrorCode::NONE);
  EXPECT_EQ(world.join_error(b), ErrorCode::NONE);
  EXPECT_EQ(world.group().members().size(), 2u);
  EXPECT_NE(world.joined(b).leader, first.id);  // the leader is one that has joined
  EXPECT_EQ(world.heartbeat(first.id, generation), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(ClassicRebalance, ItWaitsAsLongAsTheMostPatientMember) {
  ClassicWorld world;
  Joiner first{.session_ms = 100'000, .rebalance_ms = 90'000};
  world.make_stable({&first});
  Joiner second{.rebalance_ms = 5'000};
  const Token b = world.enter(second);
  world.pass(milliseconds(89'999));
  EXPECT_FALSE(world.is_answered(b));
  world.pass(milliseconds(1));
  EXPECT_EQ(world.join_error(b), ErrorCode::NONE);
}

TEST(ClassicRebalance, HeartbeatsKeepAMemberAliveThatIsNotBackYet) {
  ClassicWorld world;
  Joiner first{.session_ms = 10'000, .rebalance_ms = 60'000};
  const std::int32_t generation = world.make_stable({&first});
  Joiner second;
  const Token b = world.enter(second);
  for (int i = 0; i < 5; ++i) {
    world.pass(seconds(9));
    EXPECT_EQ(world.heartbeat(first.id, generation), ErrorCode::REBALANCE_IN_PROGRESS);
  }
  EXPECT_FALSE(world.is_answered(b));
  world.pass(seconds(10));  // nothing more is heard of it: the rest goes on
  EXPECT_EQ(world.join_error(b), ErrorCode::NONE);
  EXPECT_EQ(world.group().members().size(), 1u);
}

TEST(ClassicRebalance, TheLastOneToLeaveLeavesItEmpty) {
  ClassicWorld world;
  Joiner first;
  const std::int32_t generation = world.make_stable({&first});
  const std::size_t written = world.records.size();
  EXPECT_EQ(world.leave_one(first.id), ErrorCode::NONE);
  EXPECT_EQ(world.state(), "Empty");
  ASSERT_EQ(world.records.size(), written + 1);
  const auto value = world.last_value();
  EXPECT_EQ(value.generation, generation + 1);
  EXPECT_EQ(value.protocol_type, "consumer");
  EXPECT_EQ(value.protocol, std::nullopt);
  EXPECT_EQ(value.leader, std::nullopt);
  EXPECT_EQ(value.current_state_timestamp, world.moment.wall_ms);
  EXPECT_TRUE(value.members.empty());
  EXPECT_FALSE(world.group().next_deadline().has_value());
}

TEST(ClassicRebalance, ANewMemberIsNotWaitedForForever) {
  ClassicWorld world;
  Joiner first{.session_ms = 1'000'000, .rebalance_ms = 1'000'000};
  const std::int32_t generation = world.make_stable({&first});
  Joiner second;
  const Token b = world.enter(second);
  for (int i = 0; i < 5; ++i) {
    world.heartbeat(first.id, generation);
    EXPECT_FALSE(world.is_answered(b));
    world.pass(minutes(1));
  }
  EXPECT_EQ(world.join_error(b), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.joined(b).member_id, "");
}

TEST(ClassicRebalance, WhoHasJoinedBeforeMayWaitLongerThanItsSession) {
  ClassicWorld world;
  Joiner first{.session_ms = 6'000, .rebalance_ms = 400'000};
  Joiner second{.session_ms = 300'000, .rebalance_ms = 400'000};
  world.make_stable({&first, &second});
  const Token a = world.join(first);
  world.pass(seconds(299));
  EXPECT_FALSE(world.is_answered(a));
  world.pass(seconds(1));  // the other one is gone
  EXPECT_EQ(world.join_error(a), ErrorCode::NONE);
}

TEST(ClassicRebalance, ATimeoutOfNothingDoesNotStopTheGroup) {
  ClassicWorld world;
  Joiner first{.instance = "s", .rebalance_ms = 0};
  Joiner second{.instance = "t", .rebalance_ms = -5};
  world.join(first);
  world.join(second);
  world.pass(minutes(10));
  EXPECT_EQ(world.waiting(), 0u);
  EXPECT_FALSE(world.group().next_deadline().has_value());
}

// -- SyncGroup ------------------------------------------------------------------------------------------------------

struct TwoJoined {
  ClassicWorld world;
  Joiner leader{.rebalance_ms = 30'000};
  Joiner follower{.rebalance_ms = 30'000};
  std::int32_t generation = 0;

  TwoJoined() {
    world.enter(leader);
    world.enter(follower);
    world.pass(seconds(6));
    generation = world.group().generation();
  }
};

TEST(ClassicSync, FollowersWaitForTheLeader) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  const Token b = world.sync(two.follower.id, two.generation);
  EXPECT_FALSE(world.is_answered(b));
  world.pass(seconds(1));
  const Token a =
      world.sync(two.leader.id, two.generation, {{two.leader.id, "p0"}, {two.follower.id, "p1"}, {"nobody", "p2"}});
  EXPECT_EQ(world.state(), "Stable");
  EXPECT_EQ(world.assigned(a), "p0");
  EXPECT_EQ(world.assigned(b), "p1");
  EXPECT_EQ(world.synced(b).protocol_type, "consumer");
  EXPECT_EQ(world.synced(b).protocol_name, "range");
}

TEST(ClassicSync, TheAssignmentIsWrittenAsTheGroupBecomesStable) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  const TimestampMs joined_ms = world.moment.wall_ms;
  EXPECT_TRUE(world.records.empty());
  world.pass(seconds(1));
  world.sync(two.leader.id, two.generation, {{two.leader.id, "p0"}, {two.follower.id, "p1"}});
  ASSERT_EQ(world.records.size(), 1u);
  const auto key = kafka::decode_group_key<kafka::GroupMetadataKey>(world.records[0].key);
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->group, "group");
  const auto value = world.last_value();
  EXPECT_EQ(value.generation, two.generation);
  EXPECT_EQ(value.protocol_type, "consumer");
  EXPECT_EQ(value.protocol, "range");
  EXPECT_EQ(value.leader, two.leader.id);
  EXPECT_EQ(value.current_state_timestamp, joined_ms);  // it is written before the group is Stable
  ASSERT_EQ(value.members.size(), 2u);
  for (const auto& member : value.members) {
    EXPECT_EQ(as_text(member.assignment), member.member_id == two.leader.id ? "p0" : "p1");
    EXPECT_EQ(as_text(member.subscription), "range-metadata");
    EXPECT_EQ(member.client_id, "client");
    EXPECT_EQ(member.client_host, "/10.0.0.1");
    EXPECT_EQ(member.rebalance_timeout, 30'000);
    EXPECT_EQ(member.session_timeout, 10'000);
    EXPECT_EQ(member.group_instance_id, std::nullopt);
  }
}

TEST(ClassicSync, WhoComesLateGetsItsPartAtOnce) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  world.sync(two.leader.id, two.generation, {{two.follower.id, "p1"}, {two.follower.id, "p2"}});
  const Token b = world.sync(two.follower.id, two.generation);
  EXPECT_EQ(world.assigned(b), "p2");  // the last word counts
  EXPECT_EQ(world.assigned(world.sync(two.leader.id, two.generation)), "");
}

TEST(ClassicSync, EveryVersionCanBeTold) {
  for (std::int16_t version = 0; version <= 5; ++version) {
    TwoJoined two;
    const Token b = two.world.sync(two.follower.id, two.generation, {}, version);
    two.world.sync(two.leader.id, two.generation, {{two.follower.id, "p1"}}, version);
    EXPECT_EQ(two.world.assigned(b), "p1");
    EXPECT_EQ(two.world.synced(b).protocol_name, version < 5 ? std::nullopt : std::optional<std::string_view>("range"));
    EXPECT_EQ(two.world.sync_error(two.world.sync("nobody", 1, {}, version)), ErrorCode::UNKNOWN_MEMBER_ID);
  }
}

TEST(ClassicSync, WhoIsWrongAboutTheGroupIsTold) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  EXPECT_EQ(world.sync_error(world.sync("stranger", two.generation)), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.sync_error(world.sync(two.follower.id, two.generation - 1)), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(world.sync_error(world.sync(two.follower.id, two.generation, {}, 5, std::nullopt, "sticky")),
            ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  kafka::SyncGroupRequest connect{.group_id = "group",
                                  .generation_id = two.generation,
                                  .member_id = two.follower.id,
                                  .protocol_type = "connect",
                                  .protocol_name = "range"};
  EXPECT_EQ(world.sync_error(world.sync(connect, 5)), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(world.state(), "CompletingRebalance");

  ClassicWorld empty;
  EXPECT_EQ(empty.sync_error(empty.sync("stranger", 0)), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(ClassicSync, ANewRebalanceEndsTheWaiting) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  const Token b = world.sync(two.follower.id, two.generation);
  Joiner third;
  world.enter(third);
  EXPECT_EQ(world.sync_error(b), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_EQ(world.sync_error(world.sync(two.leader.id, two.generation, {{two.follower.id, "p1"}})),
            ErrorCode::REBALANCE_IN_PROGRESS);
}

TEST(ClassicSync, AskingTwiceAnswersTheFirstCallToo) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  const Token first = world.sync(two.follower.id, two.generation);
  const Token second = world.sync(two.follower.id, two.generation);
  EXPECT_EQ(world.sync_error(first), ErrorCode::REBALANCE_IN_PROGRESS);
  world.sync(two.leader.id, two.generation, {{two.follower.id, "p1"}});
  EXPECT_EQ(world.assigned(second), "p1");
}

TEST(ClassicSync, ALeaderThatBringsNothingIsGoneWithItsTime) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  const Token b = world.sync(two.follower.id, two.generation);
  for (int i = 0; i < 6; ++i) {  // alive, but without an assignment
    EXPECT_EQ(world.heartbeat(two.leader.id, two.generation), ErrorCode::NONE);
    EXPECT_FALSE(world.is_answered(b));
    world.pass(seconds(5));
  }
  EXPECT_EQ(world.sync_error(b), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(world.heartbeat(two.leader.id, two.generation), ErrorCode::UNKNOWN_MEMBER_ID);
  const Token again = world.join(two.follower);
  EXPECT_EQ(world.joined(again).leader, two.follower.id);
}

TEST(ClassicSync, AFollowerThatNeverAsksIsGoneWithItsTimeThoughTheGroupIsStable) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  world.sync(two.leader.id, two.generation, {});
  EXPECT_EQ(world.state(), "Stable");
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(world.heartbeat(two.leader.id, two.generation), ErrorCode::NONE);
    EXPECT_EQ(world.heartbeat(two.follower.id, two.generation), ErrorCode::NONE);
    world.pass(seconds(5));
  }
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_EQ(world.heartbeat(two.follower.id, two.generation), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.heartbeat(two.leader.id, two.generation), ErrorCode::REBALANCE_IN_PROGRESS);
}

TEST(ClassicSync, SessionsBeginAnewWithTheAnswer) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  const Token b = world.sync(two.follower.id, two.generation);
  world.pass(seconds(5));
  world.heartbeat(two.leader.id, two.generation);
  world.pass(seconds(9));  // the follower's ten seconds are over, but it waits
  EXPECT_FALSE(world.is_answered(b));
  world.sync(two.leader.id, two.generation, {});
  EXPECT_EQ(world.sync_error(b), ErrorCode::NONE);
  world.pass(milliseconds(9'999));
  EXPECT_EQ(world.heartbeat(two.follower.id, two.generation), ErrorCode::NONE);
}

TEST(ClassicSync, WhoLeavesIsNotLeftWaiting) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  const Token b = world.sync(two.follower.id, two.generation);
  EXPECT_EQ(world.leave_one(two.follower.id), ErrorCode::NONE);
  EXPECT_EQ(world.sync_error(b), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(ClassicSync, AGroupTooLargeForTheLogDoesNotBecomeStable) {
  TwoJoined two;
  ClassicWorld& world = two.world;
  world.settings.record_size_max = 10'000;
  const Token b = world.sync(two.follower.id, two.generation);
  const Token a = world.sync(two.leader.id, two.generation, {{two.leader.id, std::string(10'000, 'x')}});
  EXPECT_EQ(world.sync_error(a), ErrorCode::UNKNOWN_SERVER_ERROR);
  EXPECT_EQ(world.sync_error(b), ErrorCode::UNKNOWN_SERVER_ERROR);
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_TRUE(world.records.empty());
}

}  // namespace
}  // namespace tailrace::groupcoord
