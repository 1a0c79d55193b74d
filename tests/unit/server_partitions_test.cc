// How the shard makes, removes and recovers partitions: what it answers when, with syncs that end when the test says
// so, in any order and with any result.
#include <array>
#include <chrono>
#include <fstream>

#include "tests/unit/support/held_shard.h"

namespace tailrace::server {
namespace {

constexpr Uuid kOtherTopic{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 99}};

using ShardPartitionsTest = HeldShardTest;

TEST_F(ShardPartitionsTest, IsAnsweredWhenTheLastOfItsSyncsHasEnded) {
  std::array<std::size_t, 3> order{0, 1, 2};
  std::int32_t partition = 0;
  do {
    Asked<api::RoleSet> asked;
    lead(asked, partition++);
    turn();
    ASSERT_EQ(files().held.size(), 3u) << "its topic id, its files' names, its own name";
    const std::vector<HeldFiles::Held> all = files().held;
    for (const std::size_t next : order) {
      EXPECT_EQ(asked.answers, 0);
      const auto at = std::ranges::find(files().held, all[next].done, &HeldFiles::Held::done);
      files().end(static_cast<std::size_t>(at - files().held.begin()));
      turn();
    }
    EXPECT_EQ(asked.answers, 1);
    EXPECT_EQ(asked.answer.code, api::kOk);
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(ShardPartitionsTest, ManyAreMadeTogetherAndShareTheSyncsOfTheirNames) {
  std::vector<Asked<api::RoleSet>> asked(60);
  for (std::size_t i = 0; i < asked.size(); ++i) lead(asked[i], static_cast<std::int32_t>(i));
  turn(20);
  EXPECT_EQ(directories(), 60);
  EXPECT_EQ(files().count("file"), 60u);
  EXPECT_EQ(files().count(data_.path()), 1u) << "one at a time";
  EXPECT_EQ(std::ranges::count(asked, 0, &Asked<api::RoleSet>::answers), 60);
  Asked<api::RoleSet> late;
  lead(late, 60);
  turn();
  EXPECT_EQ(files().count(data_.path()), 1u);
  files().end_all();
  turn();
  EXPECT_EQ(files().held.size(), 1u) << "for the one that came after the first had begun";
  EXPECT_EQ(late.answers, 0);
  for (const auto& each : asked) {
    EXPECT_EQ(each.answers, 1);
    EXPECT_EQ(each.answer.code, api::kOk);
  }
  settle();
  EXPECT_EQ(late.answers, 1);
}

TEST_F(ShardPartitionsTest, OfManyNoMoreThanSomeHaveTheirSyncsInFlight) {
  std::vector<Asked<api::RoleSet>> asked(200);
  for (std::size_t i = 0; i < asked.size(); ++i) lead(asked[i], static_cast<std::int32_t>(i));
  turn(20);
  EXPECT_EQ(directories(), 200);
  EXPECT_EQ(files().count("file"), 64u);
  while (!files().held.empty()) {
    files().end(0);
    turn(1);
    EXPECT_LE(files().count("file"), 64u);
  }
  settle();
  for (const auto& each : asked) {
    EXPECT_EQ(each.answers, 1);
    EXPECT_EQ(each.answer.code, api::kOk);
  }
  kill();
  start();
  EXPECT_EQ(files().held.size(), 3 * 64u) << "topic id, records, names";
  while (!files().held.empty()) {
    EXPECT_TRUE(shard_->is_loading());
    files().end(0);
    turn(1);
    EXPECT_LE(files().held.size(), 3 * 64u);
  }
  settle();
  EXPECT_FALSE(shard_->is_loading());
  EXPECT_TRUE(shard_->loaded());
}

// As the engine's main loop does it, in which a sleep without a reason to wake is for ever.
TEST_F(ShardPartitionsTest, NobodySleepsWhenAsManyWereMadeAsATurnMakes) {
  std::vector<Asked<api::RoleSet>> asked(16);
  for (std::size_t i = 0; i < asked.size(); ++i) lead(asked[i], static_cast<std::int32_t>(i));
  client_->publish();
  while (std::ranges::count(asked, 0, &Asked<api::RoleSet>::answers) > 0) {
    const bool worked = shard_->work();
    client_->poll();
    if (!worked && shard_->prepare_to_sleep() && std::ranges::count(asked, 0, &Asked<api::RoleSet>::answers) > 0) {
      ASSERT_FALSE(files().held.empty()) << "asleep, and nothing will come";
      files().end_all();
    }
    io_.turn(true);
    shard_->wake();
  }
}

TEST_F(ShardPartitionsTest, WhatIsMadeMustNotSleepBeforeItsSyncsHaveBegun) {
  std::vector<Asked<api::RoleSet>> asked(16);
  for (std::size_t i = 0; i < asked.size(); ++i) lead(asked[i], static_cast<std::int32_t>(i));
  client_->publish();
  shard_->work();
  EXPECT_TRUE(files().held.empty());
  EXPECT_FALSE(shard_->prepare_to_sleep());
  shard_->wake();
  shard_->work();
  EXPECT_FALSE(files().held.empty());
  EXPECT_TRUE(shard_->prepare_to_sleep());
  shard_->wake();
}

TEST_F(ShardPartitionsTest, WhoWaitsForAPartitionThatIsSetAsideIsToldSo) {
  Asked<api::RoleSet> led;
  lead(led);
  turn();
  settle();
  Asked<api::ReadPlan> watched;
  client_->read({.partition = {kTopic, 0}, .watch_from = 0, .max_bytes = 100}, watched.call);
  turn();
  const int answers = watched.answers;
  Asked<api::Appended> appended;
  append(appended);
  client_->publish();
  shard_->work();
  io_.turn(true);  // written, and listed for a sync
  Asked<api::RoleSet> other;
  lead(other, 0, kOtherTopic);
  files().directory_sync = {.nth = 2, .error = EIO};  // the first one is of its close
  turn();
  EXPECT_EQ(appended.answers, 1);
  EXPECT_EQ(appended.answer.code, number(Code::unknown_partition));
  EXPECT_EQ(watched.answers, answers + 1);
  EXPECT_EQ(watched.answer.code, number(Code::unknown_partition));
  EXPECT_EQ(other.answer.code, number(Code::io_failed));
  EXPECT_EQ(directories(), 1) << "nothing has its name before it is durable that the old one has lost it";
  Asked<api::RoleSet> again;
  lead(again, 0, kOtherTopic);
  turn();
  settle();
  EXPECT_EQ(again.answers, 1);
  EXPECT_EQ(again.answer.code, api::kOk);
  EXPECT_EQ(again.answer.end_offset, 0);
}

TEST_F(ShardPartitionsTest, ASyncThatCouldNotBeginIsTriedAgain) {
  Asked<api::RoleSet> led;
  lead(led);
  turn();
  settle();
  Asked<api::Appended> appended;
  append(appended);
  client_->publish();
  shard_->work();
  files().opening = {.nth = 1, .error = EMFILE};
  turn();
  EXPECT_EQ(files().opening.nth, 0u) << "of the leader epochs";
  settle();
  EXPECT_EQ(appended.answers, 0);
  io_.pass(std::chrono::seconds(1));
  turn();
  settle();
  EXPECT_EQ(appended.answers, 1);
  EXPECT_EQ(appended.answer.code, api::kOk);
}

TEST_F(ShardPartitionsTest, WhatCouldNotBeMadeDurableIsUndoneAndMadeAnew) {
  for (std::size_t failing = 0; failing < 3; ++failing) {
    Asked<api::RoleSet> asked;
    lead(asked);
    turn();
    ASSERT_EQ(files().held.size(), 3u);
    files().end(failing, failing == 0 ? -ENOSPC : -EIO);
    turn();
    EXPECT_EQ(asked.answers, 0) << "not while other syncs refer to it";
    settle();
    EXPECT_EQ(asked.answers, 1);
    EXPECT_EQ(asked.answer.code, number(failing == 0 ? Code::disk_full : Code::io_failed));
    EXPECT_FALSE(fs::exists(path("orders-0")));
    EXPECT_EQ(shard_->partition_count(), 0u);
  }
  Asked<api::RoleSet> again;
  lead(again);
  turn();
  settle();
  EXPECT_EQ(again.answer.code, api::kOk);
  Asked<api::Appended> appended;
  append(appended);
  turn();
  settle();
  EXPECT_EQ(appended.answers, 1);
  EXPECT_EQ(appended.answer.code, api::kOk);
}

TEST_F(ShardPartitionsTest, NobodyElseSeesAPartitionThatIsBeingMade) {
  Asked<api::RoleSet> first;
  Asked<api::RoleSet> second;
  Asked<api::RoleSet> fenced;
  Asked<api::RoleSet> other_id;
  Asked<api::Appended> appended;
  Asked<api::ReadPlan> read;
  Asked<api::Done> deleted;
  lead(first, 0, kTopic, 5);
  lead(second, 0, kTopic, 6);
  lead(fenced, 0, kTopic, 4);
  lead(other_id, 0, kOtherTopic);
  append(appended);
  client_->read({.partition = {kTopic, 0}, .max_bytes = 100}, read.call);
  client_->delete_partition({.partition = {kTopic, 0}}, deleted.call);
  turn();
  EXPECT_EQ(first.answers + second.answers, 0);
  EXPECT_EQ(fenced.answer.code, number(Code::fenced_epoch));
  EXPECT_EQ(other_id.answer.code, number(Code::retry));
  EXPECT_EQ(appended.answer.code, number(Code::unknown_partition));
  EXPECT_EQ(read.answer.code, number(Code::unknown_partition));
  EXPECT_EQ(deleted.answer.code, number(Code::retry));
  settle();
  EXPECT_EQ(first.answers + second.answers, 2);
  EXPECT_EQ(first.answer.code, api::kOk);
  EXPECT_EQ(second.answer.code, api::kOk);
}

TEST_F(ShardPartitionsTest, ASessionMayEndWhileItsPartitionIsMade) {
  Asked<api::RoleSet> asked;
  lead(asked);
  turn();
  client_->detach();
  shard_->end_session(session_);
  turn();
  settle();
  connect();
  Asked<api::RoleSet> again;
  lead(again, 0, kTopic, 1);
  turn();
  EXPECT_EQ(again.answers, 1) << "it is there";
  EXPECT_EQ(again.answer.code, api::kOk);
}

TEST_F(ShardPartitionsTest, AStopClosesManyPartitionsAtATimeAndIsCleanIfAllAreSafe) {
  constexpr std::size_t kPartitions = 150;
  for (const bool fails : {false, true}) {
    std::vector<Asked<api::RoleSet>> asked(kPartitions);
    for (std::size_t i = 0; i < kPartitions; ++i) {
      lead(asked[i], static_cast<std::int32_t>(i), kTopic, fails ? 1 : 0);
      turn();
      settle();
      ASSERT_EQ(asked[i].answer.code, api::kOk);
    }
    Asked<api::Appended> appended;
    append(appended);
    turn();
    settle();
    ASSERT_EQ(appended.answer.code, api::kOk);
    shard_->stop();
    turn();
    const auto directories_held = [&] {
      return std::ranges::count_if(files().held, [](const auto& each) { return each.what.contains("orders-"); });
    };
    EXPECT_EQ(directories_held(), 64);
    EXPECT_FALSE(shard_->stopped());
    if (fails) files().end(0, -EIO);
    for (int i = 0; !shard_->stopped() && i < 5000; ++i) {
      if (!files().held.empty()) files().end(0);
      turn(1);
      ASSERT_LE(directories_held(), 64);
    }
    ASSERT_TRUE(shard_->stopped());
    EXPECT_EQ(fs::exists(path(".kafka_cleanshutdown")), !fails);
    kill();
    start();
    settle();
    EXPECT_EQ(shard_->partition_count(), kPartitions);
  }
}

TEST_F(ShardPartitionsTest, StoppingWaitsForWhatIsBeingMade) {
  Asked<api::RoleSet> asked;
  lead(asked);
  turn();
  shard_->stop();
  turn();
  EXPECT_FALSE(shard_->stopped());
  settle();
  EXPECT_TRUE(shard_->stopped());
  EXPECT_EQ(asked.answer.code, api::kOk);
  EXPECT_TRUE(fs::exists(path(".kafka_cleanshutdown")));
  kill();
  start();
  settle();
  EXPECT_EQ(shard_->partition_count(), 1u);
}

TEST_F(ShardPartitionsTest, AKillWhileItIsMadeLeavesWhatTheNextStartTakes) {
  Asked<api::RoleSet> asked;
  lead(asked);
  turn();
  kill();
  std::ofstream(path("orders-0/partition.metadata"), std::ios::trunc) << "version: 0\ntopic_";
  start();
  settle();
  // It waits for its id; when that cannot be made durable, it waits on.
  for (const int result : {-EIO, 0}) {
    Asked<api::RoleSet> again;
    lead(again);
    turn();
    ASSERT_EQ(files().held.size(), 2u) << "its name is durable";
    EXPECT_EQ(again.answers, 0);
    files().end_all(result);
    turn();
    EXPECT_EQ(again.answers, 1);
    EXPECT_EQ(again.answer.code, result == 0 ? api::kOk : number(Code::io_failed));
    EXPECT_TRUE(fs::exists(path("orders-0")));
    EXPECT_EQ(shard_->partition_count(), 1u);
  }
}

TEST_F(ShardPartitionsTest, ARemovalIsAnsweredWhenItIsDurable) {
  std::vector<Asked<api::RoleSet>> led(2);
  for (std::size_t i = 0; i < led.size(); ++i) lead(led[i], static_cast<std::int32_t>(i));
  turn();
  settle();
  for (const int result : {-EIO, 0}) {
    std::vector<Asked<api::Done>> deleted(2);
    for (std::size_t i = 0; i < deleted.size(); ++i)
      client_->delete_partition({.partition = {kTopic, static_cast<std::int32_t>(i)}}, deleted[i].call);
    turn();
    EXPECT_FALSE(fs::exists(path("orders-0")));
    ASSERT_EQ(files().held.size(), 1u) << "both share it";
    EXPECT_EQ(deleted[0].answers + deleted[1].answers, 0);
    files().end(0, result);
    turn();
    for (const auto& each : deleted) EXPECT_EQ(each.answer.code, result == 0 ? api::kOk : number(Code::io_failed));
  }
  EXPECT_EQ(shard_->partition_count(), 0u);
}

TEST_F(ShardPartitionsTest, WhatAStartFindsIsSyncedTogetherBeforeAnyRequest) {
  std::vector<Asked<api::RoleSet>> led(10);
  for (std::size_t i = 0; i < led.size(); ++i) lead(led[i], static_cast<std::int32_t>(i));
  turn();
  settle();
  Asked<api::Appended> appended;
  append(appended);
  turn();
  settle();
  kill();
  start();
  EXPECT_TRUE(shard_->is_loading());
  EXPECT_EQ(files().held.size(), 3 * led.size() + 1) << "topic id, records, names, and the epochs of one";
  Asked<api::RoleSet> asked;
  lead(asked, 0, kTopic, 1);
  turn();
  EXPECT_EQ(asked.answers, 0);
  while (!files().held.empty()) {
    EXPECT_TRUE(shard_->is_loading());
    files().end(files().held.size() / 2);
    turn();
  }
  EXPECT_FALSE(shard_->is_loading());
  EXPECT_TRUE(shard_->loaded());
  EXPECT_EQ(asked.answer.code, api::kOk);
  EXPECT_EQ(asked.answer.end_offset, 1);
}

TEST_F(ShardPartitionsTest, AStartFailsWhenWhatItFindsCannotBeSynced) {
  Asked<api::RoleSet> asked;
  lead(asked);
  turn();
  settle();
  for (std::size_t failing = 0; failing < 3; ++failing) {
    kill();
    start();
    ASSERT_EQ(files().held.size(), 3u);
    files().end(failing, -EIO);
    turn();
    EXPECT_TRUE(shard_->is_loading());
    EXPECT_TRUE(shard_->loaded()) << "not before the others have ended: they may fail, too, and are looked after then";
    files().end_all();
    turn();
    ASSERT_FALSE(shard_->is_loading());
    ASSERT_FALSE(shard_->loaded());
    EXPECT_EQ(shard_->loaded().error().code, Code::io_failed);
    Asked<api::RoleSet> again;
    lead(again, 0, kTopic, 1);
    turn();
    EXPECT_EQ(again.answers, 0);
  }
}

}  // namespace
}  // namespace tailrace::server
