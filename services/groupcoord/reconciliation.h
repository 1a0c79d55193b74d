// Reconciliation: one step of a member on its way from what it has to what it is to have. It first gives up, then says
// so, then is given what others have given up; its epoch becomes that of the target once nothing is left to give up.
// Kafka: CurrentAssignmentBuilder. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/groupcoord/assignment.h"
#include "services/groupcoord/consumer_member.h"

namespace tailrace::groupcoord {

class PartitionEpochs;

// What the member says it has, in any order; nullopt: as before.
using OwnedPartitions = std::optional<Assignment>;

// Borrows.
struct ReconciliationInput {
  const ConsumerMember& member;
  std::int32_t target_epoch = 0;
  const Assignment& target;
  const std::vector<Uuid>& subscribed_topics;  // in ascending order; whatever it has of others, it gives up
  bool has_subscription_changed = false;
  const PartitionEpochs& current;
  const OwnedPartitions& owned;
};

// The member's state is unknown, and it does not say that it has nothing: it must come anew (FENCED_MEMBER_EPOCH).
[[nodiscard]] bool must_rejoin(const ConsumerMember& member, const OwnedPartitions& owned);

// The member after the step; it does not have to rejoin.
[[nodiscard]] ConsumerMember reconcile(const ReconciliationInput& input);

}  // namespace tailrace::groupcoord
