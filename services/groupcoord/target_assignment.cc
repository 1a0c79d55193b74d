#include "services/groupcoord/target_assignment.h"

#include "services/groupcoord/metadata_hash.h"
#include "services/groupcoord/subscriptions.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {

const Assignment& TargetAssignment::of(std::string_view member) const {
  static const Assignment kNothing;
  const auto found = by_member.find(member);
  return found == by_member.end() ? kNothing : found->second;
}

std::vector<std::pair<std::string, Assignment>> next_targets(Assignor assignor, const ConsumerMembers& members,
                                                             const Subscriptions& subscriptions,
                                                             const TargetAssignment& target,
                                                             const node::MetadataImage& image) {
  AssignorInput input;
  input.is_homogeneous = subscriptions.is_homogeneous(members.size());
  input.members.reserve(members.size());
  for (const auto& [id, member] : members) {
    AssignorMember& to = input.members.emplace_back();
    to.id = id;
    if (member.instance_id) to.instance_id = *member.instance_id;
    to.topics = subscriptions.topic_ids(member, image);
    to.current = &target.of(id);
    for (const Uuid& topic : to.topics) {
      const auto [at, is_new] = input.partition_counts.try_emplace(topic, 0);
      if (is_new) at->second = partition_count(*image.find(topic));
    }
  }

  std::vector<Assignment> made = assignor(input);
  std::vector<std::pair<std::string, Assignment>> changed;
  std::size_t i = 0;
  for (const auto& [id, member] : members) {
    const auto current = target.by_member.find(id);
    if (current == target.by_member.end() || current->second != made[i]) changed.emplace_back(id, std::move(made[i]));
    ++i;
  }
  return changed;
}

}  // namespace tailrace::groupcoord
