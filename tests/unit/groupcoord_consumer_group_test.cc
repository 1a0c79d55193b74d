// A consumer group, told as what its members send and what they hear. After each step the group is the same as one that
// is made of its records.
#include "services/groupcoord/consumer_group.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/groupcoord/consumer_records.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/consumer_group_records.h"
#include "tests/unit/consumer_group_world.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;

class ConsumerGroupTest : public ::testing::Test {
 protected:
  ConsumerGroupTest() {
    world_.set_topic("orders", 3);
    world_.set_topic("events", 2);
    orders_ = world_.id("orders");
    events_ = world_.id("events");
    image();
  }

  void keep(Effects& effects) {
    for (Record& record : effects.records) world_.log.push_back(std::move(record));
    EXPECT_TRUE(group_.has_same_fold(*world_.reloaded("g")));
  }
  HeartbeatAnswer send(const HeartbeatWords& words) {
    Effects effects;
    const Call call{.token = ++token_, .api_key = 68, .api_version = 1};
    group_.heartbeat(call, {.id = "client", .host = "/127.0.0.1"}, words.request(), world_.moment, effects);
    EXPECT_EQ(effects.replies.size(), 1u);
    EXPECT_EQ(effects.replies.front().call.token, token_);
    written_ = effects.records.size();
    const HeartbeatAnswer answer = read_answer(effects.replies.front());
    keep(effects);
    return answer;
  }
  void image() { world_.tell(group_); }
  void on_time() {
    Effects effects;
    group_.on_time(world_.moment, effects);
    EXPECT_TRUE(effects.replies.empty());
    written_ = effects.records.size();
    keep(effects);
  }
  // The member's heartbeats until the group has nothing new for it; returns what it has then.
  HeartbeatAnswer settle(const std::string& member, std::int32_t epoch) {
    world_.pass(1'000);
    HeartbeatAnswer last = send(alive(member, epoch));
    for (int i = 0; i < 3; ++i) {
      if (!last.assignment) break;
      const auto assignment = last.assignment;
      last = send(having(member, last.epoch, *assignment));
      if (!last.assignment) last.assignment = assignment;
      if (last.assignment == assignment) break;
    }
    return last;
  }

  World world_;
  ConsumerGroup group_{world_.context, "g"};
  Uuid orders_;
  Uuid events_;
  std::uint64_t token_ = 0;
  std::size_t written_ = 0;  // records by the last step
};

TEST_F(ConsumerGroupTest, TheFirstMemberGetsEverythingAtOnce) {
  EXPECT_EQ(group_.state(), "Empty");
  const HeartbeatAnswer answer = send(joining("a", {"orders", "nowhere"}));
  EXPECT_EQ(answer.error, ErrorCode::NONE);
  EXPECT_EQ(answer.member_id, "a");
  EXPECT_EQ(answer.epoch, 2);
  EXPECT_EQ(answer.interval_ms, 5'000);
  EXPECT_EQ(answer.assignment, (Assignment{{orders_, {0, 1, 2}}}));
  EXPECT_EQ(group_.state(), "Stable");
  EXPECT_TRUE(group_.is_subscribed_to("nowhere"));

  // From then on there is nothing to say, and nothing is written.
  const HeartbeatAnswer next = send(alive("a", 2));
  EXPECT_EQ(next.epoch, 2);
  EXPECT_EQ(next.assignment, std::nullopt);
  EXPECT_EQ(written_, 0u);
}

TEST_F(ConsumerGroupTest, ASecondMemberGetsWhatTheFirstGivesUp) {
  ASSERT_EQ(send(joining("a", {"orders"})).epoch, 2);
  // The next assignment is not computed within the interval, so it waits as a member without partitions.
  HeartbeatAnswer b = send(joining("b", {"orders"}));
  EXPECT_EQ(b.epoch, 2);
  EXPECT_EQ(b.assignment, Assignment{});
  EXPECT_EQ(group_.state(), "Assigning");
  world_.pass(1'000);
  b = send(alive("b", 2));
  EXPECT_EQ(b.epoch, 3);
  EXPECT_EQ(b.assignment, std::nullopt);  // the first one has them still
  EXPECT_EQ(group_.state(), "Reconciling");

  HeartbeatAnswer a = send(alive("a", 2));
  EXPECT_EQ(a.epoch, 2);
  EXPECT_EQ(a.assignment, (Assignment{{orders_, {0, 1}}}));
  EXPECT_EQ(send(alive("b", 3)).assignment, std::nullopt);
  a = send(having("a", 2, {{orders_, {0, 1}}}));
  EXPECT_EQ(a.epoch, 3);
  EXPECT_EQ(send(alive("b", 3)).assignment, (Assignment{{orders_, {2}}}));
  EXPECT_EQ(group_.state(), "Stable");
}

TEST_F(ConsumerGroupTest, WhoeverLeavesLeavesItsPartitions) {
  send(joining("a", {"orders"}));
  send(joining("b", {"orders"}));
  settle("b", 2);
  settle("a", 2);
  const HeartbeatAnswer gone = send(alive("a", kLeaveEpoch));
  EXPECT_EQ(gone.error, ErrorCode::NONE);
  EXPECT_EQ(gone.epoch, kLeaveEpoch);
  EXPECT_EQ(settle("b", 3).assignment, (Assignment{{orders_, {0, 1, 2}}}));
  EXPECT_EQ(send(alive("b", kLeaveEpoch)).error, ErrorCode::NONE);
  EXPECT_EQ(group_.state(), "Empty");
  EXPECT_TRUE(group_.is_empty());
  EXPECT_EQ(group_.next_deadline(), std::nullopt);

  // Whoever comes next does not wait for the assignment interval.
  EXPECT_EQ(send(joining("c", {"events"})).assignment, (Assignment{{events_, {0, 1}}}));
}

TEST_F(ConsumerGroupTest, MembersWithTheWrongEpochAreFenced) {
  send(joining("a", {"orders"}));
  EXPECT_EQ(send(alive("a", 3)).error, ErrorCode::FENCED_MEMBER_EPOCH);
  EXPECT_EQ(send(alive("a", 1)).error, ErrorCode::FENCED_MEMBER_EPOCH);
  EXPECT_EQ(send(alive("b", 2)).error, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(send(alive("b", kLeaveEpoch)).error, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(send(alive("b", kLeaveEpoch)).message, "Member b is not a member of group g.");
  EXPECT_EQ(written_, 0u);

  // The answer with its new epoch was lost: the one before is good, if it has nothing that it must not have.
  send(joining("b", {"orders"}));
  world_.pass(1'000);
  ASSERT_EQ(send(alive("a", 2)).assignment, (Assignment{{orders_, {0, 1}}}));
  ASSERT_EQ(send(having("a", 2, {{orders_, {0, 1}}})).epoch, 3);
  EXPECT_EQ(send(alive("a", 2)).error, ErrorCode::FENCED_MEMBER_EPOCH);
  EXPECT_EQ(send(having("a", 2, {{orders_, {0, 1, 2}}})).error, ErrorCode::FENCED_MEMBER_EPOCH);
  EXPECT_EQ(send(having("a", 2, {{orders_, {0}}})).epoch, 3);
}

TEST_F(ConsumerGroupTest, AMemberThatAsksForEverythingIsToldEverything) {
  send(joining("a", {"orders"}));
  HeartbeatWords full = joining("a", {"orders"});
  full.epoch = 2;
  full.owned = Assignment{{orders_, {0}}};
  EXPECT_EQ(send(full).assignment, (Assignment{{orders_, {0, 1, 2}}}));
  EXPECT_EQ(written_, 0u);
}

TEST_F(ConsumerGroupTest, VersionZeroIsGivenAMemberId) {
  const HeartbeatAnswer answer = send(joining("", {"orders"}));
  EXPECT_EQ(answer.error, ErrorCode::NONE);
  EXPECT_EQ(answer.member_id.size(), 22u);
  EXPECT_NE(answer.member_id[0], '-');
  EXPECT_EQ(send(alive(answer.member_id, 2)).error, ErrorCode::NONE);
}

TEST_F(ConsumerGroupTest, SilentMembersAreRemoved) {
  send(joining("a", {"orders"}));
  send(joining("b", {"orders"}));
  world_.pass(44'999);
  send(alive("b", 2));
  on_time();
  EXPECT_EQ(group_.members().size(), 2u);
  EXPECT_LE(*group_.next_deadline(), world_.moment.now + std::chrono::milliseconds(1));
  world_.pass(1);
  on_time();
  EXPECT_EQ(group_.members().size(), 1u);
  EXPECT_EQ(send(alive("a", 2)).error, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(settle("b", 3).assignment, (Assignment{{orders_, {0, 1, 2}}}));
}

TEST_F(ConsumerGroupTest, ItsOwnSettingsHoldFromTheNextHeartbeatOn) {
  const auto set = [&](const char* key, std::optional<std::string_view> value) {
    world_.set_config(kafka::kGroupEntity, "g", key, value);
    image();
  };
  EXPECT_EQ(send(joining("a", {"orders"})).interval_ms, 5'000);
  set("consumer.heartbeat.interval.ms", "7000");
  EXPECT_EQ(send(alive("a", 2)).interval_ms, 7'000);
  // How long it may be silent, in milliseconds, once it has sent a heartbeat.
  const auto lives = [&] {
    send(alive("a", group_.members().at("a").epoch));
    std::int64_t silent_ms = 44'000;
    for (world_.pass(silent_ms); on_time(), !group_.members().empty(); silent_ms += 1'000) world_.pass(1'000);
    send(joining("a", {"orders"}));
    return silent_ms;
  };
  set("consumer.session.timeout.ms", "50000");
  EXPECT_EQ(lives(), 50'000);
  set("consumer.session.timeout.ms", "1000000");  // given when the node's bounds were wider
  EXPECT_EQ(lives(), 60'000);
  set("consumer.session.timeout.ms", std::nullopt);
  world_.set_config(kafka::kGroupEntity, "another", "consumer.session.timeout.ms", "50000");
  image();
  EXPECT_EQ(lives(), 45'000);
}

// What all brokers say may be changed for this one of the three while the node runs.
TEST_F(ConsumerGroupTest, TheAssignmentWaitsAsLongAsTheGroupSaysOrElseTheBroker) {
  const auto epoch_after = [&](std::int64_t milliseconds) {
    world_.pass(milliseconds);
    return send(alive("a", group_.members().at("a").epoch)).epoch;
  };
  const std::int32_t joined = send(joining("a", {"orders"})).epoch;
  world_.set_config(kafka::kBrokerEntity, "", "group.consumer.assignment.interval.ms", "4000");
  send(joining("b", {"orders"}));
  EXPECT_EQ(epoch_after(3'999), joined);
  world_.set_config(kafka::kGroupEntity, "g", "consumer.assignment.interval.ms", "6000");
  EXPECT_EQ(epoch_after(1), joined);
  world_.set_config(kafka::kGroupEntity, "g", "consumer.assignment.interval.ms", std::nullopt);
  send(alive("a", joined));
  EXPECT_GT(group_.target().epoch, joined);
}

TEST_F(ConsumerGroupTest, MembersThatDoNotGiveUpAreRemoved) {
  send(joining("a", {"orders"}));
  send(joining("b", {"orders"}));
  world_.pass(1'000);
  ASSERT_EQ(send(alive("a", 2)).assignment, (Assignment{{orders_, {0, 1}}}));
  for (int i = 0; i < 60; ++i) {  // its heartbeats say nothing of the partition
    EXPECT_EQ(send(alive("a", 2)).error, ErrorCode::NONE);
    send(alive("b", i == 0 ? 2 : 3));
    on_time();
    world_.pass(1'000);
  }
  on_time();
  EXPECT_EQ(send(alive("a", 2)).error, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(settle("b", 3).assignment, (Assignment{{orders_, {0, 1, 2}}}));
}

TEST_F(ConsumerGroupTest, AfterARestartSessionsBeginAnew) {
  send(joining("a", {"orders"}));
  world_.pass(44'000);
  const auto loaded = world_.reloaded("g");
  loaded->on_loaded(world_.moment);
  EXPECT_EQ(loaded->next_deadline(), world_.moment.now + std::chrono::seconds(45));
}

TEST_F(ConsumerGroupTest, AFullGroupTakesNobody) {
  world_.settings.consumer_group_size_max = 1;
  send(joining("a", {"orders"}));
  EXPECT_EQ(send(joining("b", {"orders"})).error, ErrorCode::GROUP_MAX_SIZE_REACHED);
  EXPECT_EQ(written_, 0u);
  EXPECT_EQ(send(alive("a", 2)).error, ErrorCode::NONE);
}

TEST_F(ConsumerGroupTest, MostMembersChooseTheAssignor) {
  HeartbeatWords a = joining("a", {"orders", "events"});
  a.assignor = "range";
  send(a);
  kafka::ConsumerGroupDescribeResponse::DescribedGroup described;
  group_.describe(described);
  EXPECT_EQ(described.assignor_name, "range");
  const std::int32_t before = group_.epoch();
  HeartbeatWords b = joining("b", {"orders", "events"});
  b.assignor = "uniform";
  send(b);
  EXPECT_EQ(group_.epoch(), before + 1);
  b.member_id = "c";
  send(b);
  group_.describe(described);
  EXPECT_EQ(described.assignor_name, "uniform");
}

// -- Static members --

HeartbeatWords joining_static(const std::string& member_id, const std::string& instance_id) {
  HeartbeatWords words = joining(member_id, {"orders"});
  words.instance_id = instance_id;
  return words;
}
HeartbeatWords as_static(HeartbeatWords words, const std::string& instance_id) {
  words.instance_id = instance_id;
  return words;
}

TEST_F(ConsumerGroupTest, AStaticMemberThatComesBackHasWhatItHad) {
  send(joining_static("a", "i"));
  ASSERT_EQ(send(joining_static("b", "j")).error, ErrorCode::NONE);
  EXPECT_EQ(send(joining_static("a2", "i")).error, ErrorCode::UNRELEASED_INSTANCE_ID);
  EXPECT_EQ(written_, 0u);
  settle("b", 2);
  send(as_static(having("a", 2, {{orders_, {0, 1}}}), "i"));
  const std::int32_t epoch = group_.epoch();

  EXPECT_EQ(send(as_static(alive("a", kLeaveStaticEpoch), "i")).epoch, kLeaveStaticEpoch);
  EXPECT_EQ(group_.epoch(), epoch);  // nobody else is disturbed
  const HeartbeatAnswer back = send(joining_static("a2", "i"));
  EXPECT_EQ(back.error, ErrorCode::NONE);
  EXPECT_EQ(back.epoch, epoch);
  EXPECT_EQ(back.assignment, (Assignment{{orders_, {0, 1}}}));
  EXPECT_EQ(group_.epoch(), epoch);
  EXPECT_EQ(group_.members().size(), 2u);

  EXPECT_EQ(send(as_static(alive("a", epoch), "i")).error, ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(send(as_static(alive("a", kLeaveEpoch), "i")).error, ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(send(as_static(alive("z", 1), "nobody")).error, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(send(as_static(alive("z", 1), "nobody")).message, "Instance id nobody is unknown.");
}

TEST_F(ConsumerGroupTest, AStaticMemberThatDoesNotComeBackIsRemoved) {
  send(joining_static("a", "i"));
  send(as_static(alive("a", kLeaveStaticEpoch), "i"));
  EXPECT_EQ(group_.members().size(), 1u);
  world_.pass(45'000);
  on_time();
  EXPECT_TRUE(group_.is_empty());
}

// -- Topics and regular expressions --

TEST_F(ConsumerGroupTest, NewPartitionsAreAssigned) {
  send(joining("a", {"orders"}));
  world_.set_topic("orders", 5);
  image();
  world_.pass(1'000);
  const HeartbeatAnswer answer = send(alive("a", 2));
  EXPECT_EQ(answer.epoch, 3);
  EXPECT_EQ(answer.assignment, (Assignment{{orders_, {0, 1, 2, 3, 4}}}));
}

TEST_F(ConsumerGroupTest, ATopicThatIsMadeAnewIsAnotherOne) {
  send(joining("a", {"orders"}));
  world_.delete_topic("orders");
  image();
  world_.pass(1'000);
  EXPECT_EQ(send(alive("a", 2)).assignment, Assignment{});
  EXPECT_EQ(send(having("a", 2, {})).epoch, 3);
  world_.set_topic("orders", 1);
  image();
  world_.pass(1'000);
  EXPECT_EQ(send(alive("a", 3)).assignment, (Assignment{{world_.id("orders"), {0}}}));
}

TEST_F(ConsumerGroupTest, TopicsOfOthersAreNobodysBusiness) {
  send(joining("a", {"orders"}));
  world_.set_topic("events", 9);
  image();
  world_.pass(60'000);
  EXPECT_EQ(send(alive("a", 2)).epoch, 2);
  EXPECT_EQ(written_, 0u);
}

HeartbeatWords joining_by_regex(const std::string& member_id, const std::string& regex) {
  HeartbeatWords words = joining(member_id, {});
  words.topics.reset();
  words.regex = regex;
  return words;
}

TEST_F(ConsumerGroupTest, ARegexIsLookedUpAfterTheAnswer) {
  world_.set_topic("order", 1);
  world_.set_topic("orders-eu", 1);
  EXPECT_EQ(send(joining_by_regex("a", "orders.*")).assignment, Assignment{});
  EXPECT_TRUE(group_.is_subscribed_to("orders"));
  EXPECT_FALSE(group_.is_subscribed_to("order"));
  world_.pass(1'000);
  EXPECT_EQ(send(alive("a", 1)).assignment, (Assignment{{orders_, {0, 1, 2}}, {world_.id("orders-eu"), {0}}}));

  // New topics are seen, but not more often than every ten seconds.
  world_.set_topic("orders-us", 1);
  image();
  world_.pass(8'000);
  send(alive("a", 2));
  EXPECT_FALSE(group_.is_subscribed_to("orders-us"));
  world_.pass(1'001);
  send(alive("a", 2));
  EXPECT_TRUE(group_.is_subscribed_to("orders-us"));
  world_.pass(1'000);
  EXPECT_EQ(send(alive("a", 2)).assignment->size(), 3u);

  // Nothing new: nothing is looked up.
  world_.pass(30'000);
  send(alive("a", 3));
  EXPECT_EQ(written_, 0u);
  send(alive("a", kLeaveEpoch));
  EXPECT_FALSE(group_.is_subscribed_to("orders"));
}

TEST_F(ConsumerGroupTest, ARegexThatIsNoneIsRefused) {
  send(joining("a", {"orders"}));
  EXPECT_EQ(send(joining_by_regex("b", "[")).error, ErrorCode::INVALID_REGULAR_EXPRESSION);
  EXPECT_EQ(send(joining_by_regex("b", "(a)\\1")).error, ErrorCode::INVALID_REGULAR_EXPRESSION);
  EXPECT_EQ(written_, 0u);
  EXPECT_EQ(group_.members().size(), 1u);
}

TEST_F(ConsumerGroupTest, NamesAndARegexCountTogether) {
  HeartbeatWords a = joining_by_regex("a", "ev.*");
  a.topics = {"orders"};
  send(a);
  world_.pass(1'000);
  EXPECT_EQ(send(alive("a", 2)).assignment, (Assignment{{orders_, {0, 1, 2}}, {events_, {0, 1}}}));
  HeartbeatWords change = alive("a", 3);
  change.regex = "";
  EXPECT_EQ(send(change).assignment, (Assignment{{orders_, {0, 1, 2}}}));
}

TEST_F(ConsumerGroupTest, UnsubscribedTopicsAreGivenUpBeforeTheNextAssignment) {
  send(joining("a", {"orders", "events"}));
  HeartbeatWords change = alive("a", 2);
  change.topics = {"events"};
  const HeartbeatAnswer answer = send(change);
  EXPECT_EQ(answer.epoch, 2);
  EXPECT_EQ(answer.assignment, (Assignment{{events_, {0, 1}}}));
}

// -- Offsets --

TEST_F(ConsumerGroupTest, OffsetsAreForMembersAndTheirEpoch) {
  const auto commit = [&](const Committer& who) { return group_.on_commit(who, world_.moment); };
  EXPECT_EQ(commit({.member_id = "", .instance_id = {}, .generation = -1, .api_version = 8}), ErrorCode::NONE);
  send(joining("a", {"orders"}));
  Committer a{.member_id = "a", .instance_id = {}, .generation = 2, .api_version = 9};
  EXPECT_EQ(commit(a), ErrorCode::NONE);
  EXPECT_EQ(group_.check_commit(a, orders_, 99), ErrorCode::NONE);
  EXPECT_EQ(commit({.member_id = "", .instance_id = {}, .generation = -1, .api_version = 9}),
            ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit({.member_id = "", .instance_id = {}, .generation = -1, .api_version = 5, .is_transactional = true}),
            ErrorCode::NONE);
  a.api_version = 8;
  EXPECT_EQ(commit(a), ErrorCode::UNSUPPORTED_VERSION);
  a.api_version = 9;
  a.generation = 3;
  EXPECT_EQ(commit(a), ErrorCode::STALE_MEMBER_EPOCH);

  // Behind its epoch, it may commit what it has had since then.
  world_.set_topic("orders", 4);
  image();
  world_.pass(1'000);
  ASSERT_EQ(send(alive("a", 2)).epoch, 3);
  a.generation = 2;
  EXPECT_EQ(commit(a), ErrorCode::NONE);
  EXPECT_EQ(group_.check_commit(a, orders_, 0), ErrorCode::NONE);
  EXPECT_EQ(group_.check_commit(a, orders_, 3), ErrorCode::STALE_MEMBER_EPOCH);
  EXPECT_EQ(group_.check_commit(a, events_, 0), ErrorCode::STALE_MEMBER_EPOCH);

  EXPECT_EQ(group_.check_fetch(std::nullopt, -1), ErrorCode::NONE);
  EXPECT_EQ(group_.check_fetch("a", 3), ErrorCode::NONE);
  EXPECT_EQ(group_.check_fetch("a", 2), ErrorCode::STALE_MEMBER_EPOCH);
  EXPECT_EQ(group_.check_fetch("b", 2), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(group_.check_delete(), ErrorCode::NON_EMPTY_GROUP);
}

// -- Describing --

TEST_F(ConsumerGroupTest, IsDescribedWithWhatMembersHaveAndAreToHave) {
  send(joining("a", {"orders"}));
  send(joining_static("b", "i"));
  world_.pass(1'000);
  send(alive("a", 2));
  kafka::ConsumerGroupDescribeResponse::DescribedGroup described;
  group_.describe(described);
  EXPECT_EQ(described.group_id, "g");
  EXPECT_EQ(described.group_state, "Reconciling");
  EXPECT_EQ(described.group_epoch, 3);
  EXPECT_EQ(described.assignment_epoch, 3);
  EXPECT_EQ(described.assignor_name, "uniform");
  ASSERT_EQ(described.members.size(), 2u);
  const auto& a = described.members[0];
  EXPECT_EQ(a.member_id, "a");
  EXPECT_EQ(a.client_id, "client");
  EXPECT_EQ(a.client_host, "/127.0.0.1");
  EXPECT_EQ(a.member_type, 1);
  EXPECT_EQ(a.subscribed_topic_regex, "");
  ASSERT_EQ(a.assignment.topic_partitions.size(), 1u);
  EXPECT_EQ(a.assignment.topic_partitions[0].topic_name, "orders");
  EXPECT_EQ(a.assignment.topic_partitions[0].partitions.size(), 3u);  // one of them is to be given up
  ASSERT_EQ(a.target_assignment.topic_partitions.size(), 1u);
  EXPECT_EQ(a.target_assignment.topic_partitions[0].partitions.size(), 2u);
  EXPECT_EQ(described.members[1].instance_id, "i");
  EXPECT_TRUE(described.members[1].assignment.topic_partitions.empty());
}

// -- Requests that are wrong whatever the group --

TEST_F(ConsumerGroupTest, RequestsThatMakeNoSenseAreRefused) {
  const auto refusal = [&](const HeartbeatWords& words, std::int16_t version = 1) -> std::string {
    const auto refused = ConsumerGroup::refuse(words.request(), version, world_.settings);
    return refused ? refused->message : "";
  };
  EXPECT_EQ(refusal(joining("a", {"orders"})), "");
  EXPECT_EQ(refusal(joining("", {"orders"}), 0), "");
  EXPECT_EQ(refusal(joining("", {"orders"}), 1), "MemberId can't be empty.");
  EXPECT_EQ(refusal(alive("", 1), 0), "MemberId can't be empty.");
  EXPECT_EQ(refusal(as_static(alive("a", 1), " ")), "InstanceId can't be empty.");
  HeartbeatWords words = joining("a", {"orders"});
  words.rebalance_timeout_ms = -1;
  EXPECT_EQ(refusal(words), "RebalanceTimeoutMs must be provided in first request.");
  words = joining("a", {"orders"});
  words.owned.reset();
  EXPECT_EQ(refusal(words), "TopicPartitions must be empty when (re-)joining.");
  words.owned = Assignment{{orders_, {1}}};
  EXPECT_EQ(refusal(words), "TopicPartitions must be empty when (re-)joining.");
  words = joining("a", {});
  EXPECT_EQ(refusal(words), "");
  words.topics.reset();
  EXPECT_EQ(refusal(words), "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.");
  EXPECT_EQ(refusal(alive("a", -2)), "InstanceId can't be null.");
  EXPECT_EQ(refusal(alive("a", -3)), "MemberEpoch is invalid.");
  words = alive("a", 1);
  words.assignor = "sticky";
  const auto refused = ConsumerGroup::refuse(words.request(), 1, world_.settings);
  EXPECT_EQ(refused->error, ErrorCode::UNSUPPORTED_ASSIGNOR);
  EXPECT_EQ(refused->message, "ServerAssignor sticky is not supported. Supported assignors: uniform, range.");
  words = alive("a", 1);
  words.topics.emplace(40'000, std::string(30, 't'));
  EXPECT_NE(refusal(words), "");
}

// -- Records --

TEST_F(ConsumerGroupTest, EndsWithItsTombstones) {
  send(joining("a", {"orders"}));
  send(joining_by_regex("b", "ev.*"));
  Effects effects;
  group_.append_tombstones(effects);
  for (std::size_t i = 0; i < effects.records.size(); ++i) {
    EXPECT_EQ(effects.records[i].value, std::nullopt);
    EXPECT_EQ(consumer_group_of(effects.records[i].key), "g");
    const auto fold = group_.apply(effects.records[i].key, std::nullopt);
    EXPECT_EQ(fold, i + 1 == effects.records.size() ? ConsumerGroup::Fold::gone : ConsumerGroup::Fold::done);
  }
  EXPECT_TRUE(group_.members().empty());
  EXPECT_TRUE(group_.target().by_member.empty());
  EXPECT_EQ(group_.subscriptions(), Subscriptions{});
}

TEST_F(ConsumerGroupTest, DamagedRecordsArePassedOver) {
  std::vector<Record> records;
  send(joining("a", {"orders"}));
  send(joining_by_regex("b", "ev.*"));
  std::mt19937 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const Record& record = world_.log[random() % world_.log.size()];
    std::vector<std::byte> key = record.key;
    std::vector<std::byte> value = record.value.value_or(std::vector<std::byte>{});
    std::vector<std::byte>& damaged = random() % 3 == 0 ? key : value;
    if (!damaged.empty()) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) damaged.resize(random() % (damaged.size() + 1));
    group_.apply(key, random() % 8 == 0 ? std::nullopt : std::optional<Bytes>(value));
    (void)group_.state();
    (void)consumer_group_of(key);
  }
  world_.pass(2'000);
  Effects effects;
  group_.on_loaded(world_.moment);
  for (const auto& [member, state] : ConsumerMembers(group_.members())) {
    Effects ignored;
    group_.heartbeat({.api_key = 68, .api_version = 1}, {}, alive(member, state.epoch).request(), world_.moment,
                     ignored);
    EXPECT_EQ(ignored.replies.size(), 1u);
  }
}

TEST_F(ConsumerGroupTest, RecordsOfOlderVersionsAreUnderstood) {
  // Kafka 4.0: partition metadata instead of a hash, and assignments without epochs.
  kafka::Buffer key;
  kafka::Buffer value;
  ASSERT_TRUE(kafka::encode_group_key(kafka::ConsumerGroupPartitionMetadataKey{.group_id = "g"}, key));
  ASSERT_TRUE(kafka::encode_group_value(kafka::ConsumerGroupPartitionMetadataValue{}, 0, value));
  const auto bytes = [](const kafka::Buffer& buffer) {
    return std::vector<std::byte>(buffer.bytes().begin(), buffer.bytes().end());
  };
  ConsumerMember member;
  member.id = "a";
  member.rebalance_timeout_ms = 1'000;
  member.topics = {"orders"};
  world_.log.push_back(member_record("g", member));
  world_.log.push_back({bytes(key), bytes(value)});
  world_.log.push_back(group_epoch_record("g", 7, 0));
  world_.log.push_back(target_record("g", "a", {{orders_, {0, 1, 2}}}));
  world_.log.push_back(target_epoch_record("g", 7, 0));
  key.clear();
  value.clear();
  kafka::ConsumerGroupCurrentMemberAssignmentValue current{.member_epoch = 7, .previous_member_epoch = 6};
  current.assigned_partitions.push_back({.topic_id = orders_, .partitions = {0, 1, 2}});
  ASSERT_TRUE(
      kafka::encode_group_key(kafka::ConsumerGroupCurrentMemberAssignmentKey{.group_id = "g", .member_id = "a"}, key));
  ASSERT_TRUE(kafka::encode_group_value(current, 0, value));
  world_.log.push_back({bytes(key), bytes(value)});
  for (const Record& record : world_.log) {
    EXPECT_EQ(group_.apply(record.key, std::optional<Bytes>(*record.value)), ConsumerGroup::Fold::done);
  }
  EXPECT_EQ(group_.state(), "Stable");
  EXPECT_EQ(group_.members().at("a").assigned.at(orders_).at(2), 7);

  // The hash is computed at the first heartbeat, and what it replaces is removed.
  EXPECT_EQ(send(alive("a", 7)).epoch, 8);
  send(alive("a", 8));
  EXPECT_EQ(written_, 0u);
}

TEST_F(ConsumerGroupTest, AClockThatWasSetBackStopsNothing) {
  send(joining("a", {"orders"}));
  world_.moment.wall_ms -= 86'400'000;
  world_.set_topic("orders", 4);
  image();
  EXPECT_EQ(send(alive("a", 2)).epoch, 3);
}

}  // namespace
}  // namespace tailrace::groupcoord
