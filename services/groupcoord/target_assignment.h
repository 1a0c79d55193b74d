// TargetAssignment: what each member of a consumer group is to have, as of which epoch, and how the next one is
// computed. Owned by the group, whose fold keeps it up. Kafka: TargetAssignmentBuilder. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/types.h"
#include "services/groupcoord/assignor.h"
#include "services/groupcoord/consumer_member.h"

namespace tailrace::node {
class MetadataImage;
}

namespace tailrace::groupcoord {

class Subscriptions;

using ConsumerMembers = std::map<std::string, ConsumerMember, std::less<>>;  // by id

struct TargetAssignment {
  std::int32_t epoch = 1;
  TimestampMs computed_ms = 0;  // 0: the next may be computed at once
  std::map<std::string, Assignment, std::less<>> by_member;

  // Nothing for one that is not in it.
  [[nodiscard]] const Assignment& of(std::string_view member) const;
  friend bool operator==(const TargetAssignment&, const TargetAssignment&) = default;
};

// What changes for whom when `assignor` looks at the group as it is now.
[[nodiscard]] std::vector<std::pair<std::string, Assignment>> next_targets(Assignor assignor,
                                                                           const ConsumerMembers& members,
                                                                           const Subscriptions& subscriptions,
                                                                           const TargetAssignment& target,
                                                                           const node::MetadataImage& image);

}  // namespace tailrace::groupcoord
