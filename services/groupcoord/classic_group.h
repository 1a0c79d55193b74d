// ClassicGroup: a group whose members assign the partitions among themselves: all join, one of them, the leader, learns
// of all and brings the assignment. Owned by its shard, which brings it requests and time. Kafka: ClassicGroup and the
// classic part of GroupMetadataManager. PURE.
//
//   Empty -> PreparingRebalance: the first member joins. The group waits for more of them (initial_rebalance_delay).
//   PreparingRebalance -> CompletingRebalance: all have joined, or the time for it is over: the next generation.
//   CompletingRebalance -> Stable: the leader has brought the assignment.
//   Stable, CompletingRebalance -> PreparingRebalance: a member comes, goes, fails, or changes what it supports.
//   PreparingRebalance -> Empty: nobody is left.
//
// A JoinGroup waits in PreparingRebalance only, a SyncGroup in CompletingRebalance only. The record of the group is
// written when a generation becomes stable and when nobody is left, so a restart brings back the last of these. The
// group changes at once: its records are no news to it, and are loaded after a restart alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/groupcoord/classic_members.h"
#include "services/groupcoord/deadlines.h"
#include "services/groupcoord/effects.h"
#include "services/groupcoord/group.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/describe_groups.h"

namespace tailrace::kafka {
struct GroupMetadataValue;
struct HeartbeatRequest;
struct JoinGroupRequest;
struct LeaveGroupRequest;
struct SyncGroupRequest;
}  // namespace tailrace::kafka

namespace tailrace::groupcoord {

enum class ClassicState : std::uint8_t { empty, preparing_rebalance, completing_rebalance, stable };

class ClassicGroup final : public Group {
 public:
  // A member that is new waits for its first JoinGroup no longer than this: it may be gone and back under a new id.
  static constexpr Duration kNewMemberJoinTimeout = std::chrono::minutes(5);
  // When nobody has come back in the time for it, the group waits as long again, at least this long.
  static constexpr Duration kRejoinPauseMin = std::chrono::seconds(1);

  // Empty and without a protocol, as it is when all that is known of a group is its offsets.
  ClassicGroup(Context& context, std::string id) : Group(context, std::move(id)) {}

  // -- How it begins --

  // As of its record: Stable with the members of the last generation, or Empty. False, and nothing is changed: the
  // record contradicts itself.
  bool load(const kafka::GroupMetadataValue& value);
  // The log is read: each member has its whole session time-out from now on.
  void on_loaded(const Moment& moment, Effects& effects);
  // A JoinGroup without a member id makes a group that was not there: that is written, whatever becomes of the request.
  // Before join().
  void create(const Moment& moment, Effects& effects);
  // The members of a consumer group go on as a classic one (KIP-848): Stable, with the protocol that most prefer; that
  // is written. Their assignments come along. False, and this group is of no use: there is no protocol that all
  // support, or the record would be too large.
  bool take_over(std::int32_t generation, std::vector<ClassicMember> members, const Moment& moment, Effects& effects);

  // -- Requests; what check_join and check_sync refuse does not come here. Each is answered once, now or later. --

  void join(const Call& call, const Client& client, const kafka::JoinGroupRequest& request, const Moment& moment,
            Effects& effects);
  void sync(const Call& call, const kafka::SyncGroupRequest& request, const Moment& moment, Effects& effects);
  void heartbeat(const Call& call, const kafka::HeartbeatRequest& request, const Moment& moment, Effects& effects);
  void leave(const Call& call, const kafka::LeaveGroupRequest& request, const Moment& moment, Effects& effects);

  // Members have to join again. From Stable or CompletingRebalance, or Empty once there is a member.
  void prepare_rebalance(std::string_view reason, const Moment& moment, Effects& effects);
  // All that wait get this answer; the group is about to become something else.
  void refuse_waiting(kafka::ErrorCode error, Effects& effects);

  // -- Reading --

  // What it returns borrows from the group.
  [[nodiscard]] kafka::DescribeGroupsResponse::DescribedGroup describe() const;
  [[nodiscard]] ClassicState classic_state() const { return state_; }
  [[nodiscard]] std::int32_t generation() const { return generation_; }
  // Of the last generation; nullopt: it had no members.
  [[nodiscard]] const std::optional<std::string>& protocol_name() const { return protocol_name_; }
  [[nodiscard]] const ClassicMembers& members() const { return members_; }
  [[nodiscard]] bool uses_consumer_protocol() const { return protocol_type_ == "consumer"; }
  // Nobody has ever joined: it has offsets alone.
  [[nodiscard]] bool is_simple() const { return protocol_type_.empty() && is_empty() && members_.pending() == 0; }

  // -- Group --

  [[nodiscard]] GroupType type() const override { return GroupType::classic; }
  [[nodiscard]] std::string_view state() const override;
  [[nodiscard]] std::string_view protocol_type() const override { return protocol_type_; }
  kafka::ErrorCode on_commit(const Committer& who, const Moment& moment) override;
  [[nodiscard]] kafka::ErrorCode check_fetch(std::optional<std::string_view>, std::int32_t) const override {
    return kafka::ErrorCode::NONE;
  }
  [[nodiscard]] kafka::ErrorCode check_delete() const override;
  [[nodiscard]] bool is_subscribed_to(std::string_view topic) const override;
  [[nodiscard]] std::optional<TimestampMs> unused_since(TimestampMs committed_ms) const override;
  [[nodiscard]] bool is_empty() const override { return state_ == ClassicState::empty; }
  void append_tombstones(Effects& effects) const override;
  [[nodiscard]] std::optional<Instant> next_deadline() const override;
  void on_time(const Moment& moment, Effects& effects) override;

 private:
  using Topics = std::set<std::string, std::less<>>;
  struct Join;  // a JoinGroup on its way
  struct JoinAnswer {
    std::string_view leader;  // as the member is to see it
    bool with_members = false;
    bool skip_assignment = false;
  };

  // classic_record.cc
  [[nodiscard]] Record record() const;
  [[nodiscard]] bool fits(const Record& record) const;
  [[nodiscard]] std::optional<Topics> subscribed_topics() const;

  // classic_join.cc
  [[nodiscard]] bool has_room_for(std::string_view member_id) const;
  [[nodiscard]] bool supports(std::string_view protocol_type, const std::vector<ClassicProtocol>& protocols) const;
  void join_new(Join& join);
  void join_known(Join& join);
  void add_pending(const Join& join, std::string id);
  void add(Join& join, std::string id);
  void replace_static(Join& join, ClassicMember& member, std::string id);
  void update_and_rebalance(Join& join, ClassicMember& member, std::string_view what);
  void wait_to_join(ClassicMember& member, Join& join);
  [[nodiscard]] JoinAnswer answer_of_replaced(const Call& call, bool is_leader, std::string_view old_leader) const;
  void answer_join(const Call& call, const ClassicMember& member, const JoinAnswer& answer, Effects& effects) const;

  // classic_rebalance.cc
  void transition(ClassicState to, const Moment& moment);
  [[nodiscard]] Duration rebalance_timeout() const;
  void prepare_or_complete(std::string_view reason, const Moment& moment, Effects& effects);
  void complete_if_all_joined(const Moment& moment, Effects& effects);
  void complete_join(const Moment& moment, Effects& effects);
  void on_initial_delay(const Moment& moment, Effects& effects);
  void on_sync_due(const Moment& moment, Effects& effects);
  void begin_generation(const Moment& moment, Effects& effects);

  // classic_sync.cc
  [[nodiscard]] kafka::ErrorCode check_syncing(const kafka::SyncGroupRequest& request) const;
  void store_assignments(const kafka::SyncGroupRequest& request, const Moment& moment, Effects& effects);
  void refuse_syncs(kafka::ErrorCode error, const Moment& moment, Effects& effects);
  void answer_sync(const Call& call, const ClassicMember& member, Effects& effects) const;
  void settle_sync(ClassicMember& member);
  void forget_syncs();

  // classic_presence.cc
  [[nodiscard]] kafka::ErrorCode check_member(std::string_view id, std::optional<std::string_view> instance_id) const;
  void keep_alive(const ClassicMember& member, const Moment& moment);
  // Answers what it waits for. Whether the others have to join again is the caller's affair.
  void drop(ClassicMember& member, Effects& effects);
  kafka::ErrorCode leave_one(std::string_view id, std::optional<std::string_view> instance_id,
                             std::optional<std::string_view> reason, Effects& effects);
  void on_session_over(const std::string& id, const Moment& moment, Effects& effects);

  ClassicState state_ = ClassicState::empty;
  bool is_initial_ = false;      // PreparingRebalance, and before it was Empty
  bool has_new_member_ = false;  // since the initial delay began last
  TimestampMs state_since_ms_ = kNoTimestamp;
  std::int32_t generation_ = 0;
  std::string protocol_type_;  // "": none
  std::optional<std::string> protocol_name_;
  std::optional<Topics> topics_;  // what the members of the generation are subscribed to; nullopt: that is not known
  ClassicMembers members_;
  std::size_t owed_syncs_ = 0;  // members with owes_sync

  Deadlines<std::string> sessions_;  // of members and of those that are pending, by id
  std::optional<Instant> join_due_;  // in PreparingRebalance
  std::optional<Instant> sync_due_;  // while syncs are owed
  Duration initial_step_{};          // of the initial delay: the part that join_due_ ends,
  Duration initial_remaining_{};     // and how much longer it may get
};

}  // namespace tailrace::groupcoord
