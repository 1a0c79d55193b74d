// ConsumerMember: a member of a consumer group, as its two records say it (ConsumerGroupMemberMetadata and
// ConsumerGroupCurrentMemberAssignment). A value: decisions make a changed copy, the fold puts it in its place.
// Kafka: ConsumerGroupMember. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/groupcoord/assignment.h"
#include "services/groupcoord/classic_members.h"

namespace tailrace::groupcoord {

// As in records.
enum class MemberState : std::int8_t {
  stable = 0,                 // has what it is to have, as of its epoch
  unrevoked_partitions = 1,   // has not yet said that it gave up what it has to
  unreleased_partitions = 2,  // waits for partitions that other members have not given up yet
  unknown = 127,              // written by a newer version
};

// Epochs in heartbeats and records that are none.
constexpr std::int32_t kJoinEpoch = 0;
constexpr std::int32_t kLeaveEpoch = -1;
constexpr std::int32_t kLeaveStaticEpoch = -2;  // a static member that is to come back

using TopicNames = std::set<std::string, std::less<>>;

struct ConsumerMember {
  // What a member says of itself while it speaks the classic protocol.
  struct Classic {
    std::int32_t session_timeout_ms = 0;
    std::vector<ClassicProtocol> protocols;  // the preferred one first
    friend bool operator==(const Classic&, const Classic&) = default;
  };

  std::string id;
  std::optional<std::string> instance_id;  // a static member
  std::optional<std::string> rack_id;
  std::string client_id;
  std::string client_host;
  std::int32_t rebalance_timeout_ms = -1;
  TopicNames topics;                           // that it is subscribed to by name
  std::string regex;                           // that it is subscribed by; "": none
  std::optional<std::string> server_assignor;  // that it would like
  std::optional<Classic> classic;

  MemberState state = MemberState::stable;
  std::int32_t epoch = 0;
  std::int32_t previous_epoch = -1;
  AssignmentEpochs assigned;
  AssignmentEpochs revoking;  // that it has to give up

  [[nodiscard]] bool is_reconciled_to(std::int32_t target_epoch) const {
    return state == MemberState::stable && epoch == target_epoch;
  }
  friend bool operator==(const ConsumerMember&, const ConsumerMember&) = default;
};

}  // namespace tailrace::groupcoord
