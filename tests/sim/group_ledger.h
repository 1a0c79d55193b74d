// GroupLedger: what the members of simulated groups believe, and the rules that this must keep: in one generation a
// partition belongs to one member; nobody takes a partition over that a living member still believes to have; a
// member's epoch does not go back; a committed offset is what was acknowledged last, or something newer that was sent;
// and nobody commits for a partition that somebody else has.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/base/types.h"
#include "tests/sim/schedule.h"

namespace tailrace::sim {

class GroupLedger {
 public:
  explicit GroupLedger(Schedule& schedule) : schedule_(schedule) {}

  using Partitions = std::set<std::int32_t>;
  static constexpr int kNobody = 0;  // no member's number

  // A member (a client, whatever its member id) was given these partitions in a generation (or epoch).
  // `is_exclusive`: of one generation, all of it; a consumer group's members come to theirs at different times.
  void on_assigned(const std::string& group, std::int32_t generation, bool is_exclusive, int member,
                   const std::string& identity, const Partitions& partitions);
  // It has stopped to work on these; on all of them.
  void on_given_up(const std::string& group, int member, const Partitions& partitions);
  void on_revoked(const std::string& group, int member);
  // A member (an `identity` that is never used again after its end) has heard of this epoch.
  void on_epoch(const std::string& group, const std::string& identity, std::int32_t epoch);
  // A generation (or epoch) that a member has heard of, and the newest one of its group; 0: none.
  void on_generation(const std::string& group, std::int32_t generation);
  [[nodiscard]] std::int32_t generation(const std::string& group) const;
  // The coordinator has answered what it sent at this time: until `until` it may believe to be in the group.
  void on_contact(const std::string& group, int member, Instant until);

  // Commits of a partition go up by one; one at a time.
  std::int64_t next_offset(const std::string& group, std::int32_t partition) {
    return ++commits_[{group, partition}].sent;
  }
  // What `member` has sent at that time was acknowledged; kNobody: it is dead, or has lost the partition.
  void on_committed(const std::string& group, int member, std::int32_t partition, std::int64_t offset, Instant sent_at);
  [[nodiscard]] std::int64_t acknowledged(const std::string& group, std::int32_t partition) const;
  // `known_before`: acknowledged() when it was asked for.
  void on_fetched(const std::string& group, std::int32_t partition, std::int64_t offset, std::int64_t known_before);

  [[nodiscard]] const Partitions& owned(const std::string& group, int member) {
    return owners_[group][member].partitions;
  }
  [[nodiscard]] std::uint64_t assignments() const { return assignments_; }
  [[nodiscard]] std::uint64_t commits() const { return commits_acknowledged_; }

 private:
  struct Owner {
    Partitions partitions;
    std::map<std::int32_t, Instant> since;  // of each of them
    Instant until;
  };
  struct Commits {
    std::int64_t sent = -1;
    std::int64_t acknowledged = -1;
  };

  Schedule& schedule_;
  std::map<std::string, std::map<int, Owner>> owners_;
  // group, generation, partition -> whose: a member, or the instance that members take over from each other.
  std::map<std::pair<std::string, std::int32_t>, std::map<std::int32_t, std::string>> generations_;
  std::map<std::pair<std::string, std::int32_t>, Commits> commits_;
  std::map<std::string, std::int32_t> newest_;                          // generation, by group
  std::map<std::pair<std::string, std::string>, std::int32_t> epochs_;  // of each member
  std::uint64_t assignments_ = 0;
  std::uint64_t commits_acknowledged_ = 0;
};

}  // namespace tailrace::sim
