#include "services/groupcoord/reconciliation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "services/groupcoord/partition_epochs.h"

namespace tailrace::groupcoord {
namespace {

bool has_any_of(const OwnedPartitions& owned, const AssignmentEpochs& partitions) {
  if (!owned) return true;  // nothing has changed, so it has them still
  return std::ranges::any_of(*owned, [&partitions](const auto& of_topic) {
    return std::ranges::any_of(of_topic.second,
                               [&](std::int32_t partition) { return contains(partitions, of_topic.first, partition); });
  });
}

bool is_subscribed(const ReconciliationInput& input, const Uuid& topic) {
  return std::ranges::binary_search(input.subscribed_topics, topic);
}

void set_epoch(ConsumerMember& member, std::int32_t epoch) {
  member.previous_epoch = std::exchange(member.epoch, epoch);
}

// The target has not moved on for it, but it must give up topics that it is not subscribed to any more.
ConsumerMember drop_unsubscribed(const ReconciliationInput& input) {
  ConsumerMember next = input.member;
  for (const auto& [topic, partitions] : input.member.assigned) {
    if (is_subscribed(input, topic)) continue;
    next.assigned.erase(topic);
    next.revoking[topic].insert(partitions.begin(), partitions.end());
  }
  if (next.assigned.size() == input.member.assigned.size()) return next;
  set_epoch(next, next.epoch);
  if (has_any_of(input.owned, next.revoking)) {
    next.state = MemberState::unrevoked_partitions;
  } else {
    next.revoking = input.member.revoking;  // it has given them up already
  }
  return next;
}

struct Difference {
  AssignmentEpochs kept;
  AssignmentEpochs lost;
  AssignmentEpochs gained;
  bool waits = false;  // for partitions that others still have
};

Difference difference(const ReconciliationInput& input) {
  Difference result;
  for (const auto& [topic, partitions] : input.member.assigned) {
    const auto target = input.target.find(topic);
    const bool is_target = target != input.target.end() && is_subscribed(input, topic);
    for (const auto& [partition, epoch] : partitions) {
      const bool stays = is_target && std::ranges::binary_search(target->second, partition);
      (stays ? result.kept : result.lost)[topic].emplace(partition, epoch);
    }
  }
  for (const auto& [topic, partitions] : input.target) {
    if (!is_subscribed(input, topic)) continue;
    for (const std::int32_t partition : partitions) {
      if (contains(result.kept, topic, partition)) continue;
      if (input.current.is_owned(topic, partition) && !contains(input.member.revoking, topic, partition)) {
        result.waits = true;
      } else {
        result.gained[topic].emplace(partition, input.target_epoch);
      }
    }
  }
  return result;
}

ConsumerMember step_to(const ReconciliationInput& input, std::int32_t epoch_until_revoked) {
  Difference now = difference(input);
  ConsumerMember next = input.member;
  next.assigned = std::move(now.kept);
  if (!now.lost.empty() && has_any_of(input.owned, now.lost)) {
    next.state = MemberState::unrevoked_partitions;
    next.revoking = std::move(now.lost);
    set_epoch(next, epoch_until_revoked);
    return next;
  }
  for (auto& [topic, partitions] : now.gained) next.assigned[topic].merge(partitions);
  next.state = now.waits ? MemberState::unreleased_partitions : MemberState::stable;
  next.revoking.clear();
  set_epoch(next, input.target_epoch);
  return next;
}

}  // namespace

bool must_rejoin(const ConsumerMember& member, const OwnedPartitions& owned) {
  return member.state == MemberState::unknown && (!owned || !owned->empty());
}

ConsumerMember reconcile(const ReconciliationInput& input) {
  const ConsumerMember& member = input.member;
  switch (member.state) {
    case MemberState::stable:
      if (member.epoch != input.target_epoch) return step_to(input, member.epoch);
      return input.has_subscription_changed ? drop_unsubscribed(input) : member;
    case MemberState::unrevoked_partitions:
      if (!has_any_of(input.owned, member.revoking)) return step_to(input, member.epoch);
      return input.has_subscription_changed ? drop_unsubscribed(input) : member;
    case MemberState::unreleased_partitions:
      return step_to(input, member.epoch);
    case MemberState::unknown:
      return step_to(input, input.target_epoch);
  }
  return member;
}

}  // namespace tailrace::groupcoord
