// Assignors: who of a consumer group's members is to have which partitions. They are pure functions of what the group
// looks like; whoever calls them turns the difference into records. Kafka: ConsumerGroupPartitionAssignor. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "services/groupcoord/assignment.h"

namespace tailrace::groupcoord {

// Borrows.
struct AssignorMember {
  std::string_view id;
  std::optional<std::string_view> instance_id;
  std::vector<Uuid> topics;             // that it is subscribed to and that exist, in ascending order
  const Assignment* current = nullptr;  // what it was to have so far; not null
};

struct AssignorInput {
  std::vector<AssignorMember> members;            // by id
  std::map<Uuid, std::int32_t> partition_counts;  // of all topics that a member is subscribed to
  bool is_homogeneous = true;                     // all members are subscribed to the same
};

// One assignment per member, in the order of the input. Every partition of a topic that somebody is subscribed to is
// given to exactly one of its subscribers.
using Assignor = std::vector<Assignment> (*)(const AssignorInput& input);

// nullptr: there is none of that name.
Assignor find_assignor(std::string_view name);

}  // namespace tailrace::groupcoord
