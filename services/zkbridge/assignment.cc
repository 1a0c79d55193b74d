#include "services/zkbridge/assignment.h"

#include "engine/base/check.h"

namespace tailrace::zkbridge {

std::vector<std::vector<BrokerId>> assign_replicas(std::span<const BrokerId> brokers, std::int32_t partitions,
                                                   std::int32_t replication_factor, Placement placement) {
  const std::size_t count = brokers.size();
  CHECK(replication_factor >= 1 && static_cast<std::size_t>(replication_factor) <= count);
  std::vector<std::vector<BrokerId>> assignment;
  std::size_t shift = placement.replica_shift;
  for (std::int32_t i = 0; i < partitions; ++i) {
    const auto number = static_cast<std::size_t>(placement.first_partition + i);
    // After each round over the brokers followers move one further, so that a broker's load spreads when it fails.
    if (number > 0 && number % count == 0) ++shift;
    const std::size_t leader = (number + placement.start_index) % count;
    std::vector<BrokerId> replicas = {brokers[leader]};
    for (std::size_t follower = 0; follower + 1 < static_cast<std::size_t>(replication_factor); ++follower) {
      replicas.push_back(brokers[(leader + 1 + (shift + follower) % (count - 1)) % count]);
    }
    assignment.push_back(std::move(replicas));
  }
  return assignment;
}

}  // namespace tailrace::zkbridge
