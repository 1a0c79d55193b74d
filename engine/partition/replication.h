// PURE. Replication: which epoch this replica leads in, how far each in-sync replica has the log, and the high
// watermark that follows. Alone on its node, the in-sync set is the leader itself and the high watermark is its own
// safe end.
#pragma once

#include <algorithm>

#include "engine/base/result.h"
#include "engine/base/types.h"

namespace tailrace::partition {

class Replication {
 public:
  // Leads from `epoch` on. Errors: fenced_epoch when a newer epoch is known already.
  Result<void> become_leader(LeaderEpoch epoch) {
    if (epoch < leader_epoch_) return failure(Code::fenced_epoch, "becoming leader");
    leader_epoch_ = epoch;
    is_leader_ = true;
    return {};
  }

  [[nodiscard]] bool is_leader() const { return is_leader_; }
  [[nodiscard]] LeaderEpoch leader_epoch() const { return leader_epoch_; }
  // Exclusive: offsets below it may be read.
  [[nodiscard]] Offset high_watermark() const { return high_watermark_; }

  // Kafka's Partition.checkCurrentLeaderEpoch: a client that names no epoch is always right.
  [[nodiscard]] Result<void> check_epoch(LeaderEpoch clients) const {
    if (!is_leader_) return failure(Code::not_leader, "checking the leader epoch");
    if (clients == kNoLeaderEpoch || clients == leader_epoch_) return {};
    return failure(clients < leader_epoch_ ? Code::fenced_epoch : Code::unknown_epoch, "checking the leader epoch");
  }

  // Our own replica is safe up to `end` (exclusive). True: the high watermark moved.
  bool on_local_end(Offset end) {
    const Offset before = high_watermark_;
    high_watermark_ = std::max(high_watermark_, end);
    return high_watermark_ != before;
  }

 private:
  LeaderEpoch leader_epoch_ = kNoLeaderEpoch;
  bool is_leader_ = false;
  Offset high_watermark_ = 0;
};

}  // namespace tailrace::partition
