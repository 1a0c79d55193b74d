// PartitionEpochs: which partitions the members of a consumer group have, those included that they have not given up
// yet, and each owner's epoch. A partition is not given to anybody as long as it is in here. Kafka:
// ConsumerGroup.currentPartitionEpoch. PURE.
#pragma once

#include <cstdint>
#include <map>

#include "services/groupcoord/assignment.h"

namespace tailrace::groupcoord {

class PartitionEpochs {
 public:
  // Of two owners (only damaged records say so) the one with the higher epoch counts.
  void add(const AssignmentEpochs& partitions, std::int32_t owner_epoch) {
    for (const auto& [topic, of_topic] : partitions) {
      std::map<std::int32_t, std::int32_t>& epochs = epochs_[topic];
      for (const auto& [partition, assigned_in] : of_topic) {
        const auto [at, is_new] = epochs.try_emplace(partition, owner_epoch);
        if (!is_new && at->second < owner_epoch) at->second = owner_epoch;
      }
    }
  }
  // What another member has taken over since stays.
  void remove(const AssignmentEpochs& partitions, std::int32_t owner_epoch) {
    for (const auto& [topic, of_topic] : partitions) {
      const auto epochs = epochs_.find(topic);
      if (epochs == epochs_.end()) continue;
      for (const auto& [partition, assigned_in] : of_topic) {
        const auto at = epochs->second.find(partition);
        if (at != epochs->second.end() && at->second == owner_epoch) epochs->second.erase(at);
      }
      if (epochs->second.empty()) epochs_.erase(epochs);
    }
  }
  [[nodiscard]] bool is_owned(const Uuid& topic, std::int32_t partition) const {
    return contains(epochs_, topic, partition);
  }
  friend bool operator==(const PartitionEpochs&, const PartitionEpochs&) = default;

 private:
  AssignmentEpochs epochs_;
};

}  // namespace tailrace::groupcoord
