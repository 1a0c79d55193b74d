#include "tests/sim/group_ledger.h"

#include <algorithm>

namespace tailrace::sim {

void GroupLedger::on_assigned(const std::string& group, std::int32_t generation, bool is_exclusive, int member,
                              const std::string& identity, const Partitions& partitions) {
  ++assignments_;
  for (const std::int32_t partition : partitions) {
    if (is_exclusive) {
      const auto [whose, is_new] = generations_[{group, generation}].try_emplace(partition, identity);
      if (!is_new && whose->second != identity) {
        return schedule_.fail("{}: partition {} belongs to {} and to {} in generation {}", group, partition,
                              whose->second, identity, generation);
      }
    }
    for (const auto& [other, owner] : owners_[group]) {
      if (other == member || owner.until < schedule_.now() || !owner.partitions.contains(partition)) continue;
      return schedule_.fail("{}: partition {} went to member {} in generation {}, and member {} still has it", group,
                            partition, member, generation, other);
    }
  }
  owners_[group][member].partitions = partitions;
}

void GroupLedger::on_revoked(const std::string& group, int member) { owners_[group][member].partitions.clear(); }

void GroupLedger::on_contact(const std::string& group, int member, Instant until) {
  Instant& known = owners_[group][member].until;
  known = std::max(known, until);
}

void GroupLedger::on_committed(const std::string& group, std::int32_t partition, std::int64_t offset) {
  Commits& commits = commits_[{group, partition}];
  commits.acknowledged = std::max(commits.acknowledged, offset);
  ++commits_acknowledged_;
}

std::int64_t GroupLedger::acknowledged(const std::string& group, std::int32_t partition) const {
  const auto found = commits_.find({group, partition});
  return found == commits_.end() ? -1 : found->second.acknowledged;
}

void GroupLedger::on_fetched(const std::string& group, std::int32_t partition, std::int64_t offset,
                             std::int64_t known_before) {
  Commits& commits = commits_[{group, partition}];
  if (offset < known_before) {
    return schedule_.fail("{}: the offset of partition {} is {}, and {} was acknowledged", group, partition, offset,
                          known_before);
  }
  if (offset > commits.sent) {
    return schedule_.fail("{}: the offset of partition {} is {}, and {} was the last sent", group, partition, offset,
                          commits.sent);
  }
  // What was read once must not go away.
  commits.acknowledged = std::max(commits.acknowledged, offset);
}

}  // namespace tailrace::sim
