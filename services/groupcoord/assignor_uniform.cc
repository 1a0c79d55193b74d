#include "services/groupcoord/assignor_uniform.h"

#include <cstddef>

#include "services/groupcoord/assignor_mixed.h"
#include "services/groupcoord/assignor_range.h"
#include "services/groupcoord/partition_owners.h"

namespace tailrace::groupcoord {
namespace {

using Member = PartitionOwners::Member;

struct Room {
  Member member;
  std::size_t count;
};

// All members are subscribed to the same topics, so each gets the same share, and some get one partition more.
std::vector<Assignment> assign_alike(const AssignorInput& input) {
  PartitionOwners owners(input);
  const std::size_t members = input.members.size();
  const std::size_t share = owners.size() / members;
  std::size_t one_mores = owners.size() % members;

  std::vector<std::size_t> free;
  std::vector<std::vector<std::size_t>> owned(members);
  for (std::size_t partition = 0; partition < owners.size(); ++partition) {
    const Member owner = owners.owner(partition);
    (owner == PartitionOwners::kNobody ? free : owned[static_cast<std::size_t>(owner)]).push_back(partition);
  }

  // Whoever has more than its share gives up the rest of it.
  std::vector<Room> rooms;
  for (std::size_t i = 0; i < members; ++i) {
    const auto member = static_cast<Member>(i);
    bool has_one_more = one_mores > 0;
    const std::size_t quota = share + (has_one_more ? 1 : 0);
    for (std::size_t k = quota; k < owned[i].size(); ++k) {
      owners.give(owned[i][k], PartitionOwners::kNobody);
      free.push_back(owned[i][k]);
    }
    std::size_t room = quota - owners.load(member);
    // A later member may have its one more already and should keep it; there are enough of them left.
    if (room > 0 && has_one_more && members - i > one_mores) {
      --room;
      has_one_more = false;
    }
    if (room > 0) rooms.push_back({member, room});
    if (has_one_more) --one_mores;
  }

  auto next = free.begin();
  for (const Room& room : rooms) {
    for (std::size_t k = 0; k < room.count && next != free.end(); ++k) owners.give(*next++, room.member);
  }
  return owners.assignments();
}

}  // namespace

std::vector<Assignment> assign_uniform(const AssignorInput& input) {
  if (input.members.empty()) return {};
  return input.is_homogeneous ? assign_alike(input) : assign_mixed(input);
}

Assignor find_assignor(std::string_view name) {
  if (name == "uniform") return assign_uniform;
  if (name == "range") return assign_range;
  return nullptr;
}

}  // namespace tailrace::groupcoord
