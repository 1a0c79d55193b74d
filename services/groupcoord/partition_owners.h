// PartitionOwners: while partitions are given out anew, which member has each of them, as an array over all partitions
// of all topics. It begins with what members have now, as far as they are still subscribed to it. PURE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/groupcoord/assignor.h"

namespace tailrace::groupcoord {

class PartitionOwners {
 public:
  using Member = std::int32_t;  // its place in the input
  static constexpr Member kNobody = -1;

  struct Topic {
    Uuid id;
    std::size_t first = 0;  // of its partitions, among all
    std::size_t count = 0;
    std::vector<Member> subscribers;  // in ascending order
  };

  // A partition that two members have (only damaged records say so) is the first one's.
  explicit PartitionOwners(const AssignorInput& input);

  [[nodiscard]] std::span<const Topic> topics() const { return topics_; }  // by id
  [[nodiscard]] std::size_t size() const { return owners_.size(); }
  [[nodiscard]] Member owner(std::size_t partition) const { return owners_[partition]; }
  // How many partitions the member has.
  [[nodiscard]] std::size_t load(Member member) const { return loads_[static_cast<std::size_t>(member)]; }
  void give(std::size_t partition, Member to);

  [[nodiscard]] std::vector<Assignment> assignments() const;

 private:
  std::vector<Topic> topics_;
  std::vector<Member> owners_;
  std::vector<std::size_t> loads_;
};

}  // namespace tailrace::groupcoord
