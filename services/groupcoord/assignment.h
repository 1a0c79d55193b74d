// Which partitions something holds: by topic id, and which epochs they were given in. Records, answers and decisions
// about consumer groups all speak in these. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::groupcoord {

// The partitions of each topic are in ascending order and never none.
using Assignment = std::map<Uuid, std::vector<std::int32_t>>;

// By partition the epoch of the target assignment that it was given in; never none of a topic.
using AssignmentEpochs = std::map<Uuid, std::map<std::int32_t, std::int32_t>>;

inline bool contains(const AssignmentEpochs& assignment, const Uuid& topic, std::int32_t partition) {
  const auto found = assignment.find(topic);
  return found != assignment.end() && found->second.contains(partition);
}

}  // namespace tailrace::groupcoord
