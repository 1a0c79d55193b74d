#include "services/groupcoord/assignor_range.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tailrace::groupcoord {
namespace {

// Static members first, by instance id: they come back under it, and so to the same ranges.
std::vector<std::size_t> in_order(const std::vector<AssignorMember>& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&members](std::size_t left, std::size_t right) {
    const AssignorMember& a = members[left];
    const AssignorMember& b = members[right];
    if (a.instance_id.has_value() != b.instance_id.has_value()) return a.instance_id.has_value();
    if (a.instance_id != b.instance_id) return *a.instance_id < *b.instance_id;
    return a.id < b.id;
  });
  return order;
}

// What is left of a topic to be given out: its first subscribers get one partition more than the others.
struct Rest {
  std::int32_t share = 0;
  std::int32_t with_one_more = 0;
  std::int32_t next_partition = 0;
};

}  // namespace

std::vector<Assignment> assign_range(const AssignorInput& input) {
  std::map<Uuid, std::int32_t> subscribers;
  for (const AssignorMember& member : input.members) {
    for (const Uuid& topic : member.topics) ++subscribers[topic];
  }
  std::map<Uuid, Rest> rests;
  for (const auto& [topic, count] : subscribers) {
    const auto found = input.partition_counts.find(topic);
    const std::int32_t partitions = found == input.partition_counts.end() ? 0 : found->second;
    rests[topic] = {partitions / count, partitions % count, 0};
  }

  std::vector<Assignment> assignments(input.members.size());
  for (const std::size_t member : in_order(input.members)) {
    for (const Uuid& topic : input.members[member].topics) {
      Rest& rest = rests[topic];
      const std::int32_t count = rest.share + (rest.with_one_more > 0 ? 1 : 0);
      if (count == 0) continue;
      if (rest.with_one_more > 0) --rest.with_one_more;
      std::vector<std::int32_t>& range = assignments[member][topic];
      range.resize(static_cast<std::size_t>(count));
      std::iota(range.begin(), range.end(), rest.next_partition);
      rest.next_partition += count;
    }
  }
  return assignments;
}

}  // namespace tailrace::groupcoord
