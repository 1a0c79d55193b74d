// The steps of a member of a consumer group towards its target, as a table: what it is, what it says, what it becomes.
#include "services/groupcoord/reconciliation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/groupcoord/partition_epochs.h"

namespace tailrace::groupcoord {
namespace {

Uuid topic(std::uint8_t number) {
  Uuid id;
  id.bytes[15] = number;
  return id;
}
const Uuid kOne = topic(1);
const Uuid kTwo = topic(2);

AssignmentEpochs in_epoch(std::int32_t epoch, const Assignment& partitions) {
  AssignmentEpochs made;
  for (const auto& [id, of_topic] : partitions) {
    for (const std::int32_t partition : of_topic) made[id].emplace(partition, epoch);
  }
  return made;
}

class Reconciliation : public ::testing::Test {
 protected:
  Reconciliation() {
    member_.id = "m";
    member_.epoch = 10;
    member_.previous_epoch = 9;
    member_.assigned = in_epoch(10, {{kOne, {0, 1}}});
  }

  // The next step towards `target` of epoch 11 when it says that it has `owned`.
  ConsumerMember step(const Assignment& target, const OwnedPartitions& owned) {
    return reconcile({.member = member_,
                      .target_epoch = target_epoch_,
                      .target = target,
                      .subscribed_topics = topics_,
                      .has_subscription_changed = has_subscription_changed_,
                      .current = current_,
                      .owned = owned});
  }

  ConsumerMember member_;
  std::int32_t target_epoch_ = 11;
  std::vector<Uuid> topics_{kOne, kTwo};
  bool has_subscription_changed_ = false;
  PartitionEpochs current_;
};

TEST_F(Reconciliation, AMemberThatIsThereStays) {
  target_epoch_ = 10;
  EXPECT_EQ(step({{kOne, {0, 1}}}, std::nullopt), member_);
}

TEST_F(Reconciliation, NothingToGiveUpAndNothingToGetIsANewEpochOnly) {
  const ConsumerMember next = step({{kOne, {0, 1}}}, std::nullopt);
  EXPECT_EQ(next.epoch, 11);
  EXPECT_EQ(next.previous_epoch, 10);
  EXPECT_EQ(next.state, MemberState::stable);
  EXPECT_EQ(next.assigned, member_.assigned);  // of epoch 10 still
}

TEST_F(Reconciliation, WhatIsFreeIsGivenInTheEpochOfTheTarget) {
  const ConsumerMember next = step({{kOne, {0, 1, 2}}, {kTwo, {7}}}, std::nullopt);
  EXPECT_EQ(next.state, MemberState::stable);
  EXPECT_EQ(next.assigned, (AssignmentEpochs{{kOne, {{0, 10}, {1, 10}, {2, 11}}}, {kTwo, {{7, 11}}}}));
}

TEST_F(Reconciliation, ItGivesUpBeforeItGets) {
  ConsumerMember next = step({{kOne, {1, 2}}}, std::nullopt);
  EXPECT_EQ(next.state, MemberState::unrevoked_partitions);
  EXPECT_EQ(next.epoch, 10);
  EXPECT_EQ(next.assigned, in_epoch(10, {{kOne, {1}}}));
  EXPECT_EQ(next.revoking, in_epoch(10, {{kOne, {0}}}));

  // As long as it does not say so, nothing moves, however often it comes.
  member_ = next;
  EXPECT_EQ(step({{kOne, {1, 2}}}, std::nullopt), member_);
  EXPECT_EQ(step({{kOne, {1, 2}}}, Assignment{{kOne, {1, 0}}}), member_);

  next = step({{kOne, {1, 2}}}, Assignment{{kOne, {1}}});
  EXPECT_EQ(next.state, MemberState::stable);
  EXPECT_EQ(next.epoch, 11);
  EXPECT_EQ(next.assigned, (AssignmentEpochs{{kOne, {{1, 10}, {2, 11}}}}));
  EXPECT_TRUE(next.revoking.empty());
}

TEST_F(Reconciliation, WhatItSaysItHasNotIsNotWaitedFor) {
  const ConsumerMember next = step({{kTwo, {0}}}, Assignment{});
  EXPECT_EQ(next.state, MemberState::stable);
  EXPECT_EQ(next.epoch, 11);
  EXPECT_EQ(next.assigned, in_epoch(11, {{kTwo, {0}}}));
}

TEST_F(Reconciliation, PartitionsThatOthersHaveAreWaitedFor) {
  current_.add(in_epoch(10, {{kOne, {2}}}), 10);
  ConsumerMember next = step({{kOne, {0, 1, 2, 3}}}, std::nullopt);
  EXPECT_EQ(next.state, MemberState::unreleased_partitions);
  EXPECT_EQ(next.epoch, 11);
  EXPECT_EQ(next.assigned, (AssignmentEpochs{{kOne, {{0, 10}, {1, 10}, {3, 11}}}}));

  member_ = next;
  current_.remove(in_epoch(10, {{kOne, {2}}}), 10);
  next = step({{kOne, {0, 1, 2, 3}}}, std::nullopt);
  EXPECT_EQ(next.state, MemberState::stable);
  EXPECT_EQ(next.assigned, (AssignmentEpochs{{kOne, {{0, 10}, {1, 10}, {2, 11}, {3, 11}}}}));
}

TEST_F(Reconciliation, ItMayGetBackWhatItIsAboutToGiveUp) {
  member_ = step({{kOne, {1}}}, std::nullopt);
  current_.add(member_.assigned, 10);
  current_.add(member_.revoking, 10);
  target_epoch_ = 12;  // and 0 is its own again
  const ConsumerMember next = step({{kOne, {0, 1}}}, Assignment{{kOne, {1}}});
  EXPECT_EQ(next.state, MemberState::stable);
  EXPECT_EQ(next.assigned, (AssignmentEpochs{{kOne, {{0, 12}, {1, 10}}}}));
}

TEST_F(Reconciliation, TopicsThatItIsNotSubscribedToAreGivenUpWhateverTheTargetSays) {
  member_.assigned = in_epoch(10, {{kOne, {0}}, {kTwo, {0}}});
  topics_ = {kTwo};
  has_subscription_changed_ = true;
  target_epoch_ = 10;  // the next one is not computed yet
  ConsumerMember next = step({{kOne, {0}}, {kTwo, {0}}}, std::nullopt);
  EXPECT_EQ(next.state, MemberState::unrevoked_partitions);
  EXPECT_EQ(next.epoch, 10);
  EXPECT_EQ(next.assigned, in_epoch(10, {{kTwo, {0}}}));
  EXPECT_EQ(next.revoking, in_epoch(10, {{kOne, {0}}}));

  member_ = next;
  has_subscription_changed_ = false;
  next = step({{kOne, {0}}, {kTwo, {0}}}, Assignment{{kTwo, {0}}});
  EXPECT_EQ(next.state, MemberState::stable);
  EXPECT_EQ(next.assigned, in_epoch(10, {{kTwo, {0}}}));
}

TEST_F(Reconciliation, AChangedSubscriptionThatCostsNothingChangesNothing) {
  has_subscription_changed_ = true;
  target_epoch_ = 10;
  EXPECT_EQ(step({{kOne, {0, 1}}}, std::nullopt), member_);
}

TEST_F(Reconciliation, AStateOfTheFutureMustBeginAnew) {
  member_.state = MemberState::unknown;
  EXPECT_TRUE(must_rejoin(member_, std::nullopt));
  EXPECT_TRUE(must_rejoin(member_, Assignment{{kOne, {0}}}));
  EXPECT_FALSE(must_rejoin(member_, Assignment{}));
  const ConsumerMember next = step({{kTwo, {3}}}, Assignment{});
  EXPECT_EQ(next.state, MemberState::stable);
  EXPECT_EQ(next.epoch, 11);
  EXPECT_EQ(next.assigned, in_epoch(11, {{kTwo, {3}}}));
}

TEST(PartitionEpochs, KeepWhatAnotherMemberHasTakenOver) {
  PartitionEpochs epochs;
  epochs.add(in_epoch(3, {{kOne, {0, 1}}}), 3);
  epochs.add(in_epoch(4, {{kOne, {1}}}), 4);
  epochs.remove(in_epoch(3, {{kOne, {0, 1}}}), 3);
  EXPECT_FALSE(epochs.is_owned(kOne, 0));
  EXPECT_TRUE(epochs.is_owned(kOne, 1));
  epochs.remove(in_epoch(4, {{kOne, {1}}}), 4);
  EXPECT_EQ(epochs, PartitionEpochs{});
}

}  // namespace
}  // namespace tailrace::groupcoord
