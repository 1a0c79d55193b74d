// The assignor "range": of each topic every subscriber gets a run of neighbouring partitions, in an order of the
// members that is the same for all topics, so that topics with as many partitions are cut alike (co-partitioning).
// Kafka: RangeAssignor. PURE.
#pragma once

#include <vector>

#include "services/groupcoord/assignor.h"

namespace tailrace::groupcoord {

std::vector<Assignment> assign_range(const AssignorInput& input);

}  // namespace tailrace::groupcoord
