// Which brokers hold the replicas of new partitions: Kafka's round robin (AdminUtils, without racks), so that a cluster
// looks the same whoever made a topic. PURE.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::zkbridge {

struct Placement {
  std::uint32_t start_index = 0;     // the broker (by its place in the list) of partition 0's leader; Kafka draws it
  std::uint32_t replica_shift = 0;   // how far the first follower is from the leader; Kafka draws it
  std::int32_t first_partition = 0;  // the number of the first new partition
};

// Replicas of `partitions` new partitions, the preferred leader first. `brokers` is sorted and has at least
// `replication_factor` >= 1 members.
std::vector<std::vector<BrokerId>> assign_replicas(std::span<const BrokerId> brokers, std::int32_t partitions,
                                                   std::int32_t replication_factor, Placement placement);

}  // namespace tailrace::zkbridge
