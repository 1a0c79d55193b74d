// The part of "uniform" for members with different subscriptions: partitions without an owner go to the subscriber
// that has the fewest, and then, topic by topic, from those that have the most to those that have the fewest, until
// that improves nothing any more. Kafka: UniformHeterogeneousAssignmentBuilder. PURE.
#pragma once

#include <vector>

#include "services/groupcoord/assignor.h"

namespace tailrace::groupcoord {

std::vector<Assignment> assign_mixed(const AssignorInput& input);

}  // namespace tailrace::groupcoord
