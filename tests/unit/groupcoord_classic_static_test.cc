// Static members (group.instance.id, KIP-345): quick restarts that nobody notices, and doubles that are shut out.
#include <gtest/gtest.h>

#include "tests/unit/support/classic_world.h"

namespace tailrace::groupcoord {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Two static members, stable.
struct TwoStatic {
  ClassicWorld world;
  Joiner leader{.instance = "first", .session_ms = 30'000, .rebalance_ms = 20'000};
  Joiner follower{.instance = "second", .session_ms = 30'000, .rebalance_ms = 20'000};
  std::int32_t generation = 0;
  std::string old_leader;
  std::string old_follower;

  TwoStatic() {
    const Token a = world.join(leader);
    const Token b = world.join(follower);
    world.pass(seconds(6));
    old_leader = leader.id = world.joined(a).member_id;
    old_follower = follower.id = world.joined(b).member_id;
    generation = world.group().generation();
    world.sync(leader.id, generation, {{leader.id, "p0"}, {follower.id, "p1"}}, 5, "first");
    world.sync(follower.id, generation, {}, 5, "second");
  }
  // The client is started again and knows nothing.
  Token restart(Joiner& joiner) {
    joiner.id.clear();
    const Token token = world.join(joiner);
    if (world.is_answered(token)) joiner.id = world.joined(token).member_id;
    return token;
  }
};

TEST(ClassicStatic, OneRoundIsEnough) {
  ClassicWorld world;
  const Token token = world.join({.instance = "first"});
  EXPECT_FALSE(world.is_answered(token));
  world.pass(seconds(3));
  const std::string id(world.joined(token).member_id);
  EXPECT_TRUE(id.starts_with("first-")) << id;
  ASSERT_EQ(world.joined(token).members.size(), 1u);
  EXPECT_EQ(world.joined(token).members[0].group_instance_id, "first");
}

TEST(ClassicStatic, AFollowerThatIsBackGoesOn) {
  TwoStatic two;
  ClassicWorld& world = two.world;
  const std::size_t written = world.records.size();
  const Token token = two.restart(two.follower);
  EXPECT_EQ(world.join_error(token), ErrorCode::NONE);
  EXPECT_EQ(world.state(), "Stable");
  EXPECT_NE(two.follower.id, two.old_follower);
  EXPECT_EQ(world.joined(token).generation_id, two.generation);
  EXPECT_EQ(world.joined(token).leader, two.leader.id);
  EXPECT_FALSE(world.joined(token).skip_assignment);
  EXPECT_TRUE(world.joined(token).members.empty());
  EXPECT_EQ(world.assigned(world.sync(two.follower.id, two.generation, {}, 5, "second")), "p1");
  EXPECT_EQ(world.heartbeat(two.leader.id, two.generation), ErrorCode::NONE);
  ASSERT_EQ(world.records.size(), written + 1);  // the new id is written
  std::set<std::string_view> ids;
  const auto value = world.last_value();
  for (const auto& member : value.members) ids.insert(member.member_id);
  EXPECT_EQ(ids, (std::set<std::string_view>{two.leader.id, two.follower.id}));
  EXPECT_EQ(value.generation, two.generation);
}

TEST(ClassicStatic, ALeaderThatIsBackLeadsAndNeedNotAssign) {
  TwoStatic two;
  const Token token = two.restart(two.leader);
  EXPECT_EQ(two.world.joined(token).leader, two.leader.id);
  EXPECT_TRUE(two.world.joined(token).skip_assignment);
  EXPECT_EQ(two.world.joined(token).members.size(), 2u);
  EXPECT_EQ(two.world.assigned(two.world.sync(two.leader.id, two.generation, {}, 5, "first")), "p0");
  EXPECT_EQ(two.world.state(), "Stable");
}

TEST(ClassicStatic, BeforeVersionNineALeaderThatIsBackIsToldThatItDoesNotLead) {
  TwoStatic two;
  two.leader.version = 8;
  const Token token = two.restart(two.leader);
  EXPECT_EQ(two.world.joined(token).leader, two.old_leader);
  EXPECT_TRUE(two.world.joined(token).members.empty());
  EXPECT_EQ(two.world.leader_id(), two.leader.id);  // it does all the same
  EXPECT_FALSE(two.world.is_answered(two.world.join(two.leader)));
  EXPECT_EQ(two.world.state(), "PreparingRebalance");
}

TEST(ClassicStatic, TheOldIdIsShutOut) {
  TwoStatic two;
  ClassicWorld& world = two.world;
  two.restart(two.follower);
  EXPECT_EQ(world.heartbeat(two.old_follower, two.generation, "second"), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(world.heartbeat(two.old_follower, two.generation), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.sync_error(world.sync(two.old_follower, two.generation, {}, 5, "second")),
            ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(world.join_error(world.join({.id = two.old_follower, .instance = "second"})),
            ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(world.leave_one(two.old_follower, "second"), ErrorCode::FENCED_INSTANCE_ID);
  const Committer committer{.member_id = two.old_follower, .instance_id = "second", .generation = two.generation};
  EXPECT_EQ(world.group().on_commit(committer, world.moment), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(world.join_error(world.join({.id = "any", .instance = "unknown"})), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(ClassicStatic, ADoubleThatWaitsIsShutOut) {
  ClassicWorld world;
  const Token first = world.join({.instance = "s"});
  const Token second = world.join({.instance = "s"});
  EXPECT_EQ(world.join_error(first), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_FALSE(world.is_answered(second));
  world.pass(seconds(3));
  EXPECT_EQ(world.join_error(second), ErrorCode::NONE);
  EXPECT_EQ(world.group().members().size(), 1u);
}

TEST(ClassicStatic, BeforeTheAssignmentARestartMakesAllJoinAgain) {
  ClassicWorld world;
  Joiner leader{.instance = "first"};
  Joiner follower{.instance = "second"};
  const Token a = world.join(leader);
  const Token b = world.join(follower);
  world.pass(seconds(6));
  leader.id = world.joined(a).member_id;
  follower.id = world.joined(b).member_id;
  const Token waits = world.sync(follower.id, 1, {}, 5, "second");
  follower.id.clear();
  const Token back = world.join(follower);
  EXPECT_EQ(world.sync_error(waits), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_FALSE(world.is_answered(back));
  world.join(leader);
  EXPECT_EQ(world.joined(back).generation_id, 2);
}

TEST(ClassicStatic, ARestartWithOtherProtocolsIsARebalance) {
  TwoStatic two;
  ClassicWorld& world = two.world;
  two.follower.protocols = {{"sticky", "s"}, {"range", "r"}};
  two.restart(two.follower);
  EXPECT_EQ(world.state(), "Stable");  // all still support and prefer range
  two.leader.protocols = {{"sticky", "s"}, {"range", "r"}};
  two.restart(two.leader);
  EXPECT_EQ(world.state(), "PreparingRebalance");
}

TEST(ClassicStatic, ARestartWithMoreThanTheLogTakesIsARebalance) {
  TwoStatic two;
  two.world.settings.record_size_max = 5'000;
  const std::size_t written = two.world.records.size();
  two.follower.protocols = {{"range", std::string(6'000, 'x')}};
  EXPECT_FALSE(two.world.is_answered(two.restart(two.follower)));
  EXPECT_EQ(two.world.state(), "PreparingRebalance");
  EXPECT_EQ(two.world.records.size(), written);
}

TEST(ClassicStatic, WhoIsAwayKeepsItsPlaceAsLongAsItsSession) {
  TwoStatic two;
  ClassicWorld& world = two.world;
  Joiner third{.instance = "third", .session_ms = 30'000, .rebalance_ms = 20'000};
  const Token c = world.join(third);
  const Token a = world.join(two.leader);
  world.pass(seconds(20));  // the follower has not joined; its session goes on
  EXPECT_EQ(world.join_error(a), ErrorCode::NONE);
  EXPECT_EQ(world.joined(a).members.size(), 3u);
  EXPECT_EQ(world.join_error(c), ErrorCode::NONE);
}

TEST(ClassicStatic, WhenAllAreAwayTheGroupWaitsOn) {
  TwoStatic two;
  ClassicWorld& world = two.world;
  two.leader.session_ms = two.follower.session_ms = 600'000;
  two.restart(two.leader);
  two.restart(two.follower);
  Joiner third;
  const Token first = world.join(third);  // pending, never comes
  EXPECT_EQ(world.join_error(first), ErrorCode::MEMBER_ID_REQUIRED);
  EXPECT_EQ(world.leave_one(std::string(world.joined(first).member_id)), ErrorCode::NONE);
  EXPECT_EQ(world.state(), "PreparingRebalance");
  world.pass(seconds(25));
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_EQ(world.group().members().size(), 2u);
  const Token a = world.join(two.leader);
  world.pass(seconds(20));
  EXPECT_EQ(world.joined(a).generation_id, two.generation + 1);
}

TEST(ClassicStatic, AStaticMemberLeavesByItsInstanceIdAlone) {
  TwoStatic two;
  ClassicWorld& world = two.world;
  EXPECT_EQ(world.leave_one("", "nobody"), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.leave_one("", std::nullopt), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.state(), "Stable");
  EXPECT_EQ(world.leave_one("", "second"), ErrorCode::NONE);
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_EQ(world.group().members().size(), 1u);
}

TEST(ClassicStatic, ARestartOfTheBrokerKeepsStaticMembersApart) {
  TwoStatic two;
  ClassicWorld& world = two.world;
  world.restart();
  EXPECT_EQ(world.state(), "Stable");
  EXPECT_EQ(world.heartbeat(two.leader.id, two.generation, "first"), ErrorCode::NONE);
  EXPECT_EQ(world.heartbeat(two.leader.id, two.generation, "second"), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(world.assigned(world.sync(two.follower.id, two.generation, {}, 5, "second")), "p1");
  const Token token = two.restart(two.follower);
  EXPECT_EQ(world.join_error(token), ErrorCode::NONE);
  EXPECT_EQ(world.joined(token).generation_id, two.generation);
}

TEST(ClassicStatic, ItsHostAndClientIdStayThoseOfTheFirstTime) {
  TwoStatic two;
  two.follower.client = "renamed";
  two.restart(two.follower);
  EXPECT_EQ(two.world.group().members().find(two.follower.id)->client_id, "client");
}

TEST(ClassicStatic, WhoIsBackBeforeItsFirstSyncIsStillAskedForIt) {
  ClassicWorld world;
  Joiner leader{.instance = "first", .session_ms = 100'000, .rebalance_ms = 20'000};
  Joiner follower{.instance = "second", .session_ms = 100'000, .rebalance_ms = 20'000};
  leader.id = "";
  const Token a = world.join(leader);
  world.join(follower);
  world.pass(seconds(6));
  leader.id = world.joined(a).member_id;
  world.sync(leader.id, 1, {}, 5, "first");
  const Token b = world.join(follower);
  follower.id = world.joined(b).member_id;
  EXPECT_EQ(world.sync_error(world.sync(follower.id, 1, {}, 5, "second")), ErrorCode::NONE);
  world.pass(seconds(30));
  EXPECT_EQ(world.state(), "Stable");  // the old id is waited for no longer
}

}  // namespace
}  // namespace tailrace::groupcoord
