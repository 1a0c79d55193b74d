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
  Owner& owner = owners_[group][member];
  std::erase_if(owner.since, [&](const auto& each) { return !partitions.contains(each.first); });
  for (const std::int32_t partition : partitions) owner.since.try_emplace(partition, schedule_.now());
  owner.partitions = partitions;
}

void GroupLedger::on_given_up(const std::string& group, int member, const Partitions& partitions) {
  Owner& owner = owners_[group][member];
  for (const std::int32_t partition : partitions) {
    owner.partitions.erase(partition);
    owner.since.erase(partition);
  }
}

void GroupLedger::on_revoked(const std::string& group, int member) {
  owners_[group][member].partitions.clear();
  owners_[group][member].since.clear();
}

void GroupLedger::on_epoch(const std::string& group, const std::string& identity, std::int32_t epoch) {
  std::int32_t& known = epochs_[{group, identity}];
  if (epoch < known) {
    schedule_.fail("{}: the epoch of {} goes back from {} to {}", group, identity, known, epoch);
  }
  known = epoch;
}

void GroupLedger::on_generation(const std::string& group, std::int32_t generation) {
  std::int32_t& known = newest_[group];
  known = std::max(known, generation);
}

std::int32_t GroupLedger::generation(const std::string& group) const {
  const auto found = newest_.find(group);
  return found == newest_.end() ? 0 : found->second;
}

void GroupLedger::on_contact(const std::string& group, int member, Instant until) {
  Instant& known = owners_[group][member].until;
  known = std::max(known, until);
}

void GroupLedger::on_committed(const std::string& group, int member, std::int32_t partition, std::int64_t offset,
                               Instant sent_at) {
  for (const auto& [other, owner] : owners_[group]) {
    const auto since = owner.since.find(partition);
    if (other == member || owner.until < schedule_.now() || since == owner.since.end()) continue;
    if (since->second >= sent_at) continue;
    schedule_.fail("{}: a commit of {} for partition {} was taken, which member {} has", group,
                   member == kNobody ? "somebody who lost it" : "member " + std::to_string(member), partition, other);
  }
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
