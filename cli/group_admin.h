// Questions to the coordinators of consumer groups: who is in them, what they have committed, and changes of that
// (KIP-222, KIP-229, KIP-496, KIP-848). A coordinator that is still reading its state, or has moved, is asked again as
// long as the client's time limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/admin.h"

namespace tailrace::cli {

// What a command says for a group's error: where Kafka's word alone does not tell what to do, the sentence does.
std::string describe_group_error(std::int16_t code, std::string_view message = {});

// The group's coordinator, which the client then knows as a broker. Error: there is none for too long.
Outcome<BrokerId> find_coordinator(Client& client, const std::string& group);

struct ListedGroup {
  std::string group;
  std::string type;           // "Classic", "Consumer", ...; empty: the broker is too old to say
  std::string state;          // "Stable", ...; likewise
  std::string protocol_type;  // "consumer", "connect", ...; empty: only offsets were committed
};
struct GroupFilter {
  std::vector<std::string> states;  // in the broker's spelling; empty: all
  std::vector<std::string> types;
};
// Of all brokers, sorted by group. Error: a broker is too old for a filter, does not answer, or reads its state too
// long.
Outcome<std::vector<ListedGroup>> list_groups(Client& client, const GroupFilter& filter);
// Whether its members are consumers, or nobody has been a member.
bool is_consumer_group(const ListedGroup& group);

struct GroupMember {
  std::string id{};
  std::optional<std::string> instance_id{};  // static membership (KIP-345)
  std::string client_id{};
  std::string host{};
  std::vector<PartitionKey> assignment{};  // sorted
  // Of groups of the new protocol only.
  std::optional<std::int32_t> epoch{};
  std::vector<PartitionKey> target_assignment{};  // sorted
  std::vector<std::string> topics{};
  std::string topic_regex{};
  std::optional<std::string> rack{};
  std::optional<bool> is_upgraded{};  // false: it still speaks the classic protocol
};

struct Group {
  std::string group{};
  std::string error{};  // empty: none; else a sentence, and the rest is empty
  bool is_missing = false;
  std::string type{};   // "Classic" or "Consumer"
  std::string state{};  // "Stable", "Empty", ...
  std::string protocol_type{};
  std::string assignor{};  // the protocol that members have agreed on; empty: none
  std::optional<std::int32_t> epoch{};
  std::optional<std::int32_t> target_assignment_epoch{};
  BrokerId coordinator = -1;
  HostPort address{};
  std::vector<GroupMember> members{};  // sorted by id

  [[nodiscard]] bool is_inactive() const { return is_missing || state == "Empty" || state == "Dead"; }
  [[nodiscard]] bool is_rebalancing() const;
};
// In the order of `groups`.
Outcome<std::vector<Group>> describe_groups(Client& client, const std::vector<std::string>& groups);

struct CommittedOffset {
  Offset offset = 0;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
};
using CommittedOffsets = std::map<PartitionKey, CommittedOffset>;
// Nothing for a group that is not there. Error: a sentence.
Outcome<CommittedOffsets> committed_offsets(Client& client, const std::string& group);

// What became of each partition. Error: what became of all.
using PartitionVerdicts = std::map<PartitionKey, Verdict>;
// As from outside: the coordinator refuses it while the group has members.
Outcome<PartitionVerdicts> commit_offsets(Client& client, const std::string& group,
                                          const std::map<PartitionKey, Offset>& offsets);
Outcome<PartitionVerdicts> delete_offsets(Client& client, const std::string& group,
                                          const std::vector<PartitionKey>& partitions);
// In the order of `groups`.
Outcome<std::vector<Verdict>> delete_groups(Client& client, const std::vector<std::string>& groups);

}  // namespace tailrace::cli
