// JoinGroup: the two rounds of a new member, what it may bring, and what it is told.
#include <gtest/gtest.h>

#include <regex>

#include "services/groupcoord/classic_replies.h"
#include "tests/unit/support/classic_world.h"

namespace tailrace::groupcoord {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ClassicJoin, ANewMemberIsGivenItsIdFirst) {
  ClassicWorld world;
  Joiner joiner{.client = "app"};
  const Token first = world.join(joiner);
  EXPECT_EQ(world.join_error(first), ErrorCode::MEMBER_ID_REQUIRED);
  const std::string id(world.joined(first).member_id);
  EXPECT_TRUE(
      std::regex_match(id, std::regex("app-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")))
      << id;
  EXPECT_EQ(world.joined(first).generation_id, -1);
  EXPECT_EQ(world.joined(first).protocol_name, std::nullopt);
  EXPECT_EQ(world.state(), "Empty");

  joiner.id = id;
  const Token second = world.join(joiner);
  EXPECT_FALSE(world.is_answered(second));
  EXPECT_EQ(world.state(), "PreparingRebalance");
  world.pass(seconds(3));
  EXPECT_EQ(world.joined(second).member_id, id);
  EXPECT_EQ(world.joined(second).leader, id);
  EXPECT_EQ(world.joined(second).generation_id, 1);
  EXPECT_EQ(world.joined(second).protocol_type, "consumer");
  EXPECT_EQ(world.joined(second).protocol_name, "range");
  EXPECT_FALSE(world.joined(second).skip_assignment);
  ASSERT_EQ(world.joined(second).members.size(), 1u);
  EXPECT_EQ(world.joined(second).members[0].member_id, id);
  EXPECT_EQ(as_text(world.joined(second).members[0].metadata), "range-metadata");
}

TEST(ClassicJoin, BeforeVersionFourOneRoundIsEnough) {
  for (std::int16_t version = 0; version < 4; ++version) {
    ClassicWorld world;
    const Token token = world.join({.version = version});
    EXPECT_FALSE(world.is_answered(token));
    world.pass(seconds(3));
    EXPECT_EQ(world.join_error(token), ErrorCode::NONE) << version;
    EXPECT_FALSE(world.joined(token).member_id.empty());
  }
}

TEST(ClassicJoin, EveryVersionCanBeTold) {
  for (std::int16_t version = 0; version <= 9; ++version) {
    ClassicWorld world;
    Joiner joiner{.version = version};
    const Token token = version < 4 ? world.join(joiner) : world.enter(joiner);
    world.pass(seconds(3));
    EXPECT_EQ(world.join_error(token), ErrorCode::NONE);
    EXPECT_EQ(world.joined(token).protocol_name, "range");
    EXPECT_EQ(world.joined(token).members.size(), 1u);
    const Token refused = world.join({.id = "nobody", .version = version});
    EXPECT_EQ(world.join_error(refused), ErrorCode::UNKNOWN_MEMBER_ID);
    EXPECT_EQ(world.joined(refused).protocol_name, version < 7 ? std::optional<std::string_view>("") : std::nullopt);
  }
}

TEST(ClassicJoin, BeforeVersionOneTheSessionTimeoutIsTheRebalanceTimeout) {
  ClassicWorld world;
  world.join({.session_ms = 7'000, .version = 0});
  EXPECT_EQ(world.group().members().rebalance_timeout_ms(), 7'000);
}

TEST(ClassicJoin, OnlyTheLeaderLearnsOfTheOthers) {
  ClassicWorld world;
  Joiner first;
  Joiner second;
  const Token a = world.enter(first);
  const Token b = world.enter(second);
  world.pass(seconds(6));
  EXPECT_EQ(world.joined(a).members.size(), 2u);
  EXPECT_EQ(world.joined(b).members.size(), 0u);
  EXPECT_EQ(world.joined(a).leader, first.id);  // whoever came first
  EXPECT_EQ(world.joined(b).leader, first.id);
  EXPECT_EQ(world.joined(b).generation_id, world.joined(a).generation_id);
}

TEST(ClassicJoin, TheProtocolIsOneThatAllSupportAndMostPrefer) {
  ClassicWorld world;
  Joiner first{.protocols = {{"range", "r1"}, {"sticky", "s1"}, {"mine", "m1"}}};
  Joiner second{.protocols = {{"sticky", "s2"}, {"range", "r2"}}};
  Joiner third{.protocols = {{"theirs", "t3"}, {"sticky", "s3"}, {"range", "r3"}}};
  const Token a = world.enter(first);
  world.enter(second);
  world.enter(third);
  world.pass(seconds(6));
  EXPECT_EQ(world.joined(a).protocol_name, "sticky");
  std::set<std::string> metadata;
  for (const auto& member : world.joined(a).members) metadata.emplace(as_text(member.metadata));
  EXPECT_EQ(metadata, (std::set<std::string>{"s1", "s2", "s3"}));
}

TEST(ClassicJoin, WhoSharesNoProtocolStaysOutside) {
  ClassicWorld world;
  Joiner first;
  world.make_stable({&first});
  const Joiner cases[] = {{.protocols = {{"sticky", ""}}},                   // another assignor
                          {.protocols = {}},                                 // none
                          {.type = "connect"},                               // another kind of group
                          {.type = ""},                                      // no kind
                          {.instance = "s", .protocols = {{"sticky", ""}}},  // static
                          {.protocols = {{"sticky", ""}}, .version = 1}};    // of old
  for (const Joiner& joiner : cases) {
    const Token token = world.join(joiner);
    EXPECT_EQ(world.join_error(token), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    EXPECT_EQ(world.joined(token).member_id, "");
  }
  EXPECT_EQ(world.state(), "Stable");
  // An own member may not turn to another protocol either, not even alone.
  const Token token = world.join({.id = first.id, .protocols = {{"sticky", ""}}});
  EXPECT_EQ(world.join_error(token), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(world.joined(token).member_id, first.id);
}

TEST(ClassicJoin, AnEmptyGroupAsksForAnyKindAndProtocol) {
  ClassicWorld world;
  EXPECT_EQ(world.join_error(world.join({.type = ""})), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(world.join_error(world.join({.protocols = {}})), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
}

TEST(ClassicJoin, ConnectWorkersAreAGroupToo) {
  ClassicWorld world;
  Joiner first{.protocols = {{"sessioned", "worker 1"}, {"compatible", "w"}}, .type = "connect"};
  Joiner second{.protocols = {{"compatible", "worker 2"}}, .type = "connect"};
  const Token a = world.enter(first);
  world.enter(second);
  world.pass(seconds(6));
  EXPECT_EQ(world.joined(a).protocol_type, "connect");
  EXPECT_EQ(world.joined(a).protocol_name, "compatible");
  EXPECT_EQ(world.group().protocol_type(), "connect");
  EXPECT_FALSE(world.group().is_subscribed_to("topic"));
}

TEST(ClassicJoin, AProtocolGivenTwiceCountsOnce) {
  ClassicWorld world;
  Joiner first{.protocols = {{"range", "one"}, {"range", "two"}, {"", "nameless"}}};
  Joiner second{.protocols = {{"range", "other"}}};
  const Token a = world.enter(first);
  world.enter(second);
  world.pass(seconds(6));
  EXPECT_EQ(world.joined(a).protocol_name, "range");
  world.leave_one(second.id);
  Joiner again = first;
  const Token b = world.join(again);
  EXPECT_EQ(world.join_error(b), ErrorCode::NONE);
  ASSERT_EQ(world.joined(b).members.size(), 1u);
  EXPECT_EQ(as_text(world.joined(b).members[0].metadata), "one");
}

TEST(ClassicJoin, AProtocolWithoutANameIsAProtocol) {
  ClassicWorld world;
  Joiner joiner{.protocols = {{"", "nameless"}}};
  const Token token = world.enter(joiner);
  world.pass(seconds(3));
  EXPECT_EQ(world.join_error(token), ErrorCode::NONE);
  EXPECT_EQ(world.joined(token).protocol_name, std::nullopt);  // how "" is said since version 7
  world.sync(joiner.id, 1, {{joiner.id, "mine"}}, 3);
  EXPECT_EQ(world.state(), "Stable");
}

TEST(ClassicJoin, MembersThatNobodyKnowsHaveToBeginAnew) {
  ClassicWorld world;
  EXPECT_EQ(world.join_error(world.join({.id = "stranger"})), ErrorCode::UNKNOWN_MEMBER_ID);
  Joiner first;
  world.make_stable({&first});
  const Token token = world.join({.id = "stranger"});
  EXPECT_EQ(world.join_error(token), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(world.joined(token).member_id, "stranger");
  EXPECT_EQ(world.state(), "Stable");
}

TEST(ClassicJoin, AFollowerThatAsksAgainIsToldOfThisGeneration) {
  ClassicWorld world;
  Joiner leader;
  Joiner follower;
  const std::int32_t generation = world.make_stable({&leader, &follower});
  const Token token = world.join(follower);
  EXPECT_EQ(world.join_error(token), ErrorCode::NONE);
  EXPECT_EQ(world.joined(token).generation_id, generation);
  EXPECT_EQ(world.joined(token).leader, leader.id);
  EXPECT_EQ(world.state(), "Stable");
  EXPECT_EQ(world.assigned(world.sync(follower.id, generation)), "for-" + follower.id);
}

TEST(ClassicJoin, TheLeaderThatAsksAgainWantsARebalance) {
  ClassicWorld world;
  Joiner leader;
  Joiner follower;
  const std::int32_t generation = world.make_stable({&leader, &follower});
  const Token token = world.join(leader);
  EXPECT_FALSE(world.is_answered(token));
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_EQ(world.heartbeat(follower.id, generation), ErrorCode::REBALANCE_IN_PROGRESS);
  world.join(follower);
  EXPECT_EQ(world.joined(token).generation_id, generation + 1);
  EXPECT_EQ(world.joined(token).leader, leader.id);
}

TEST(ClassicJoin, AFollowerWithOtherMetadataCausesARebalance) {
  ClassicWorld world;
  Joiner leader;
  Joiner follower;
  world.make_stable({&leader, &follower});
  follower.protocols = {{"range", "other topics"}};
  EXPECT_FALSE(world.is_answered(world.join(follower)));
  EXPECT_EQ(world.state(), "PreparingRebalance");
}

TEST(ClassicJoin, WhoMissedTheAnswerIsToldAgainBeforeTheAssignmentToo) {
  ClassicWorld world;
  Joiner leader;
  Joiner follower;
  world.enter(leader);
  world.enter(follower);
  world.pass(seconds(6));
  EXPECT_EQ(world.state(), "CompletingRebalance");
  EXPECT_EQ(world.joined(world.join(leader)).members.size(), 2u);
  EXPECT_EQ(world.joined(world.join(follower)).members.size(), 0u);
  EXPECT_EQ(world.state(), "CompletingRebalance");
  follower.protocols = {{"range", "other topics"}};
  world.join(follower);
  EXPECT_EQ(world.state(), "PreparingRebalance");
}

TEST(ClassicJoin, AskingTwiceAnswersTheFirstCallToo) {
  ClassicWorld world;
  Joiner joiner;
  const Token first = world.enter(joiner);
  const Token second = world.join(joiner);
  EXPECT_EQ(world.join_error(first), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_FALSE(world.is_answered(second));
  world.pass(seconds(3));
  EXPECT_EQ(world.join_error(second), ErrorCode::NONE);
}

TEST(ClassicJoin, AFullGroupTakesNobodyElse) {
  ClassicWorld world;
  world.settings.group_size_max = 2;
  Joiner first;
  Joiner second;
  const std::int32_t generation = world.make_stable({&first, &second});
  const Token token = world.join({});
  EXPECT_EQ(world.join_error(token), ErrorCode::GROUP_MAX_SIZE_REACHED);
  EXPECT_EQ(world.joined(token).member_id, "");
  EXPECT_EQ(world.heartbeat(first.id, generation), ErrorCode::NONE);
  EXPECT_EQ(world.join_error(world.join(second)), ErrorCode::NONE);  // its own members are
  EXPECT_EQ(world.leave_one(second.id), ErrorCode::NONE);
  Joiner third;
  EXPECT_FALSE(world.is_answered(world.enter(third)));
}

TEST(ClassicJoin, APendingMemberFindsTheGroupFull) {
  ClassicWorld world;
  world.settings.group_size_max = 1;
  Joiner late;
  const Token first = world.join(late);
  late.id = world.joined(first).member_id;
  Joiner quick;
  world.enter(quick);
  EXPECT_EQ(world.join_error(world.join(late)), ErrorCode::GROUP_MAX_SIZE_REACHED);
  EXPECT_EQ(world.group().members().pending(), 0u);
}

TEST(ClassicJoin, AGroupOverItsSizeIsMadeSmallerByARebalance) {
  ClassicWorld world;
  Joiner a;
  Joiner b;
  Joiner c;
  const std::int32_t generation = world.make_stable({&a, &b, &c});
  world.settings.group_size_max = 2;
  world.restart();
  EXPECT_EQ(world.state(), "PreparingRebalance");
  EXPECT_EQ(world.heartbeat(a.id, generation), ErrorCode::REBALANCE_IN_PROGRESS);
  const Token first = world.join(b);
  const Token second = world.join(c);
  const Token third = world.join(a);
  EXPECT_EQ(world.join_error(third), ErrorCode::GROUP_MAX_SIZE_REACHED);
  world.pass(minutes(1));
  EXPECT_EQ(world.join_error(first), ErrorCode::NONE);
  EXPECT_EQ(world.join_error(second), ErrorCode::NONE);
  EXPECT_EQ(world.group().members().size(), 2u);
}

TEST(ClassicJoin, APendingMemberHasToComeWithinItsSession) {
  ClassicWorld world;
  Joiner joiner{.session_ms = 10'000};
  joiner.id = world.joined(world.join(joiner)).member_id;
  world.pass(milliseconds(9'999));
  EXPECT_EQ(world.group().members().pending(), 1u);
  world.pass(milliseconds(1));
  EXPECT_EQ(world.group().members().pending(), 0u);
  EXPECT_EQ(world.join_error(world.join(joiner)), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_FALSE(world.group().next_deadline().has_value());
}

TEST(ClassicJoin, ARebalanceWaitsForPendingMembers) {
  ClassicWorld world;
  Joiner first;
  world.make_stable({&first});
  Joiner second;
  second.id = world.joined(world.join(second)).member_id;
  EXPECT_EQ(world.state(), "Stable");  // it is not in yet
  const Token token = world.join(first);
  EXPECT_FALSE(world.is_answered(token));
  const Token other = world.join(second);
  EXPECT_EQ(world.join_error(token), ErrorCode::NONE);
  EXPECT_EQ(world.join_error(other), ErrorCode::NONE);

  // One that does not come is waited for until its session is over.
  world.sync(first.id, world.group().generation(), {}, 3);
  world.join({.session_ms = 6'000});
  const Token again = world.join(first);
  world.join(second);
  EXPECT_FALSE(world.is_answered(again));
  world.pass(seconds(6));
  EXPECT_EQ(world.join_error(again), ErrorCode::NONE);
}

TEST(ClassicJoin, APendingIdIsNoStaticMember) {
  ClassicWorld world;
  Joiner joiner;
  joiner.id = world.joined(world.join(joiner)).member_id;
  joiner.instance = "s";
  EXPECT_EQ(world.join_error(world.join(joiner)), ErrorCode::UNKNOWN_SERVER_ERROR);
  EXPECT_EQ(world.group().members().size(), 0u);
}

TEST(ClassicJoin, LongNamesStillMakeIdsThatCanBeSaid) {
  ClassicWorld world;
  std::string name(32'767 - 1, 'x');
  for (std::size_t i = 32'700; i + 1 < name.size(); i += 2) name.replace(i, 2, "\xC3\xA9");
  const Token token = world.join({.client = name});
  EXPECT_EQ(world.join_error(token), ErrorCode::MEMBER_ID_REQUIRED);
  const std::string id(world.joined(token).member_id);
  EXPECT_LE(id.size(), 32'767u);
  EXPECT_EQ(world.group().members().is_pending(id), true);
  EXPECT_NE(static_cast<unsigned char>(id[id.size() - 38]), 0xC3);  // no half of a character before the dash
}

TEST(ClassicJoin, TheReasonIsNotedWithoutItsTricks) {
  ClassicWorld world;
  Joiner joiner{.reason = "rebalance\nlevel=ERROR \"x\"" + std::string(5'000, 'y')};
  world.enter(joiner);
  ASSERT_FALSE(world.notes.empty());
  for (const std::string& note : world.notes) {
    EXPECT_EQ(note.find('\n'), std::string::npos);
    EXPECT_LT(note.size(), 1'000u);
  }
}

TEST(ClassicJoin, WhatIsWrongWithoutAGroup) {
  const Settings settings;
  kafka::JoinGroupRequest request{.group_id = "g", .session_timeout_ms = 6'000};
  EXPECT_EQ(check_join(request, settings), ErrorCode::NONE);
  request.session_timeout_ms = 5'999;
  EXPECT_EQ(check_join(request, settings), ErrorCode::INVALID_SESSION_TIMEOUT);
  request.session_timeout_ms = 1'800'001;
  EXPECT_EQ(check_join(request, settings), ErrorCode::INVALID_SESSION_TIMEOUT);
  request.group_id = "";
  EXPECT_EQ(check_join(request, settings), ErrorCode::INVALID_GROUP_ID);

  kafka::SyncGroupRequest sync{.group_id = "g"};
  EXPECT_EQ(check_sync(sync, 4), ErrorCode::NONE);
  EXPECT_EQ(check_sync(sync, 5), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  sync.protocol_type = "consumer";
  EXPECT_EQ(check_sync(sync, 5), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  sync.protocol_name = "range";
  EXPECT_EQ(check_sync(sync, 5), ErrorCode::NONE);
  sync.group_id = "";
  EXPECT_EQ(check_sync(sync, 5), ErrorCode::INVALID_GROUP_ID);
}

}  // namespace
}  // namespace tailrace::groupcoord
