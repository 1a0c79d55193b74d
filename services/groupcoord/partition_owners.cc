#include "services/groupcoord/partition_owners.h"

#include <algorithm>

namespace tailrace::groupcoord {

PartitionOwners::PartitionOwners(const AssignorInput& input) : loads_(input.members.size()) {
  topics_.reserve(input.partition_counts.size());
  std::size_t total = 0;
  for (const auto& [id, count] : input.partition_counts) {
    topics_.push_back({id, total, static_cast<std::size_t>(std::max(count, 0)), {}});
    total += topics_.back().count;
  }
  owners_.assign(total, kNobody);

  const auto topic_of = [this](const Uuid& id) -> Topic* {
    const auto found = std::ranges::lower_bound(topics_, id, {}, &Topic::id);
    return found != topics_.end() && found->id == id ? &*found : nullptr;
  };
  for (std::size_t i = 0; i < input.members.size(); ++i) {
    const auto member = static_cast<Member>(i);
    for (const Uuid& id : input.members[i].topics) {
      Topic* topic = topic_of(id);
      if (topic == nullptr) continue;
      topic->subscribers.push_back(member);
      const auto current = input.members[i].current->find(id);
      if (current == input.members[i].current->end()) continue;
      for (const std::int32_t partition : current->second) {
        if (partition < 0 || static_cast<std::size_t>(partition) >= topic->count) continue;
        const std::size_t at = topic->first + static_cast<std::size_t>(partition);
        if (owners_[at] == kNobody) give(at, member);
      }
    }
  }
}

void PartitionOwners::give(std::size_t partition, Member to) {
  const Member from = owners_[partition];
  if (from != kNobody) --loads_[static_cast<std::size_t>(from)];
  if (to != kNobody) ++loads_[static_cast<std::size_t>(to)];
  owners_[partition] = to;
}

std::vector<Assignment> PartitionOwners::assignments() const {
  std::vector<Assignment> made(loads_.size());
  for (const Topic& topic : topics_) {
    for (std::size_t i = 0; i < topic.count; ++i) {
      const Member owner = owners_[topic.first + i];
      if (owner == kNobody) continue;
      made[static_cast<std::size_t>(owner)][topic.id].push_back(static_cast<std::int32_t>(i));
    }
  }
  return made;
}

}  // namespace tailrace::groupcoord
