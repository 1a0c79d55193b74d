// GroupLedger: what the members of simulated groups believe, and the rules that this must keep: in one generation a
// partition belongs to one member; nobody takes a partition over that a living member still believes to have; and a
// committed offset is what was acknowledged last, or something newer that was sent.
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

  // A member (a client, whatever its member id) was given these partitions in a generation (or epoch).
  // `is_exclusive`: of one generation, all of it; a consumer group's members come to theirs at different times.
  void on_assigned(const std::string& group, std::int32_t generation, bool is_exclusive, int member,
                   const std::string& identity, const Partitions& partitions);
  // It has stopped to work on them.
  void on_revoked(const std::string& group, int member);
  // The coordinator has answered what it sent at this time: until `until` it may believe to be in the group.
  void on_contact(const std::string& group, int member, Instant until);

  // Commits of a partition go up by one; one at a time.
  std::int64_t next_offset(const std::string& group, std::int32_t partition) {
    return ++commits_[{group, partition}].sent;
  }
  void on_committed(const std::string& group, std::int32_t partition, std::int64_t offset);
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
  std::uint64_t assignments_ = 0;
  std::uint64_t commits_acknowledged_ = 0;
};

}  // namespace tailrace::sim
