// The assignor "uniform": members get as many partitions as each other, within what they are subscribed to, and keep
// as much as possible of what they had. Kafka: UniformAssignor, whose answers these are. PURE.
#pragma once

#include <vector>

#include "services/groupcoord/assignor.h"

namespace tailrace::groupcoord {

std::vector<Assignment> assign_uniform(const AssignorInput& input);

}  // namespace tailrace::groupcoord
