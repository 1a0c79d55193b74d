// ConsumerGroup: a group of the consumer protocol (KIP-848), whose partitions are assigned here: members say by
// heartbeats what they are subscribed to and what they have, and hear what they are to have. Owned by its shard, which
// brings it requests, time and changes of the cluster. Kafka: ConsumerGroup, and the part of GroupMetadataManager that
// is about it. PURE.
//
// The group's epoch grows with every change of members, subscriptions or topics. The target assignment follows it, at
// most once per assignment interval; members follow the target one by one, each giving up before others get.
//
//   Empty -> Assigning: a member joins, the epoch is ahead of the target.
//   Assigning -> Reconciling: the target is computed.
//   Reconciling -> Stable: all members have what they are to have.
//
// The state is the fold of the group's records: what is decided becomes records, these are applied as on a reload, and
// given out. Beside the fold there are only time-outs, and what is known to need a look.
//
// Members may speak the classic protocol (KIP-848's migration): they are served by join, sync, classic_heartbeat and
// leave. When the last of the others goes, the group is a classic one from then on (take_successor).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "services/groupcoord/consumer_member.h"
#include "services/groupcoord/deadlines.h"
#include "services/groupcoord/effects.h"
#include "services/groupcoord/group.h"
#include "services/groupcoord/partition_epochs.h"
#include "services/groupcoord/reconciliation.h"
#include "services/groupcoord/refusal.h"
#include "services/groupcoord/subscriptions.h"
#include "services/groupcoord/target_assignment.h"
#include "services/kafka/messages/consumer_group_describe.h"

namespace tailrace::kafka {
struct ConsumerGroupHeartbeatRequest;
struct HeartbeatRequest;
struct JoinGroupRequest;
struct LeaveGroupRequest;
struct SyncGroupRequest;
}  // namespace tailrace::kafka

namespace tailrace::groupcoord {

class ClassicGroup;
struct ImageChange;

class ConsumerGroup final : public Group {
 public:
  // Without members; the first heartbeat, or apply, brings them.
  ConsumerGroup(Context& context, std::string id);
  ~ConsumerGroup() override;

  // -- The fold --

  enum class Fold : std::uint8_t { done, gone, passed_over };
  // A record about this group (consumer_group_of). gone: the group has ended with it. passed_over: nobody knows what it
  // says.
  Fold apply(Bytes key, std::optional<Bytes> value);
  // The log is read: members have their whole session time-out from now on.
  void on_loaded(const Moment& moment);

  // -- The consumer protocol --

  // What is wrong with the request, whatever the group; nullopt: nothing.
  static std::optional<Refusal> refuse(const kafka::ConsumerGroupHeartbeatRequest& request, std::int16_t version,
                                       const Settings& settings);
  // There is no such group, and only a request with epoch 0 makes one.
  static Refusal no_group(const kafka::ConsumerGroupHeartbeatRequest& request);
  static void answer(const Call& call, const Refusal& refusal, Effects& effects);
  // What would keep the request from being served, for which no record is made. heartbeat() says it, too; who makes or
  // converts a group for a request asks before.
  [[nodiscard]] std::optional<Refusal> check(const kafka::ConsumerGroupHeartbeatRequest& request) const;
  // `request` is not one to be refused. If the group was made for it and no record comes out, it was not made.
  void heartbeat(const Call& call, const Client& client, const kafka::ConsumerGroupHeartbeatRequest& request,
                 const Moment& moment, Effects& effects);

  // A group that has just been made: the members of a classic one go on in it, with what they have. False, and nothing
  // is changed: what they have said or were assigned is not what consumers say (`why` has the words).
  bool take_over(const ClassicGroup& classic, const Moment& moment, Effects& effects, std::string& why);

  // -- Members that speak the classic protocol; the group is not empty (an empty one gives way to a classic one) --

  void join(const Call& call, const Client& client, const kafka::JoinGroupRequest& request, const Moment& moment,
            Effects& effects);
  void sync(const Call& call, const kafka::SyncGroupRequest& request, const Moment& moment, Effects& effects);
  void classic_heartbeat(const Call& call, const kafka::HeartbeatRequest& request, const Moment& moment,
                         Effects& effects);
  void leave(const Call& call, const kafka::LeaveGroupRequest& request, const Moment& moment, Effects& effects);

  // -- The world --

  // The context's image was replaced. What follows from that is seen at the next heartbeat.
  void on_image(const ImageChange& change);

  // -- Reading --

  // `to` borrows from the group and from the image.
  void describe(kafka::ConsumerGroupDescribeResponse::DescribedGroup& to) const;
  [[nodiscard]] const ConsumerMembers& members() const { return members_; }
  [[nodiscard]] std::int32_t epoch() const { return epoch_; }
  [[nodiscard]] const TargetAssignment& target() const { return target_; }
  [[nodiscard]] const Subscriptions& subscriptions() const { return subscriptions_; }
  // Both are what the same records say.
  [[nodiscard]] bool has_same_fold(const ConsumerGroup& other) const;

  // -- Group --

  [[nodiscard]] GroupType type() const override { return GroupType::consumer; }
  [[nodiscard]] std::string_view state() const override;
  [[nodiscard]] std::string_view protocol_type() const override { return "consumer"; }
  kafka::ErrorCode on_commit(const Committer& who, const Moment& moment) override;
  [[nodiscard]] kafka::ErrorCode check_commit(const Committer& who, const Uuid& topic_id,
                                              std::int32_t partition) const override;
  [[nodiscard]] kafka::ErrorCode check_fetch(std::optional<std::string_view> member_id,
                                             std::int32_t member_epoch) const override;
  [[nodiscard]] kafka::ErrorCode check_delete() const override;
  [[nodiscard]] bool is_subscribed_to(std::string_view topic) const override { return subscriptions_.contains(topic); }
  [[nodiscard]] std::optional<TimestampMs> unused_since(TimestampMs committed_ms) const override {
    return committed_ms;
  }
  [[nodiscard]] bool is_empty() const override { return members_.empty(); }
  void append_tombstones(Effects& effects) const override;
  [[nodiscard]] std::optional<Instant> next_deadline() const override { return timers_.next(); }
  void on_time(const Moment& moment, Effects& effects) override;
  std::unique_ptr<Group> take_successor() override;

 private:
  // Of a member: it has not sent a heartbeat; has not given up partitions; has not joined or synced (the classic
  // protocol), for too long.
  enum class Timer : std::uint8_t { session, rebalance, join, sync };
  using TimerKey = std::pair<Timer, std::string>;

  // A member that comes or sends its heartbeat, on its way through the decisions.
  struct Update;

  // consumer_group.cc
  [[nodiscard]] const ConsumerMember* find(std::string_view id) const;
  [[nodiscard]] const ConsumerMember* find_static(std::string_view instance_id) const;
  [[nodiscard]] Refusal unknown_member(std::string_view id) const;
  [[nodiscard]] bool is_full_for(std::string_view member_id, const std::optional<std::string_view>& instance_id) const;
  [[nodiscard]] std::string_view preferred_assignor() const;
  [[nodiscard]] Duration session_timeout() const;
  [[nodiscard]] std::int32_t heartbeat_interval_ms() const;
  [[nodiscard]] std::int32_t assignment_interval_ms() const;
  void set_timer(Timer timer, std::string_view member, Duration timeout, const Moment& moment);
  void clear_timer(Timer timer, std::string_view member);

  // consumer_fold.cc
  template <class Value>
  [[nodiscard]] bool read(std::optional<Bytes> bytes, std::optional<Value>& value) const;
  bool fold_member(Bytes key, std::optional<Bytes> value);
  bool fold_current_assignment(Bytes key, std::optional<Bytes> value);
  bool fold_target(Bytes key, std::optional<Bytes> value);
  bool fold_regex(Bytes key, std::optional<Bytes> value);
  void put_member(ConsumerMember member);
  void remove_member(std::string_view id);
  void count(const ConsumerMember& member);
  void uncount(const ConsumerMember& member);
  // Applies the record and gives it out.
  void write(Record record, Effects& effects);

  // consumer_heartbeat.cc
  [[nodiscard]] std::optional<Refusal> check_dynamic(const kafka::ConsumerGroupHeartbeatRequest& request) const;
  [[nodiscard]] std::optional<Refusal> check_static(const kafka::ConsumerGroupHeartbeatRequest& request) const;
  [[nodiscard]] std::optional<Refusal> check_regex(const kafka::ConsumerGroupHeartbeatRequest& request) const;
  [[nodiscard]] std::optional<Refusal> check_leave(const kafka::ConsumerGroupHeartbeatRequest& request) const;
  void on_leave(const Call& call, const kafka::ConsumerGroupHeartbeatRequest& request, const Moment& moment,
                Effects& effects);

  // consumer_update.cc: what a heartbeat and a JoinGroup of the classic protocol have in common.
  void begin(Update& update);
  void replace_static(const ConsumerMember& old, Update& update);
  void write_member(Update& update);
  void update_regex(Update& update);
  void update_epoch(bool must_grow, const Moment& moment, Effects& effects);
  void write_epoch(std::int64_t hash, const Moment& moment, Effects& effects);
  void update_target(const Moment& moment, Effects& effects);
  void reconcile_member(Update& update);
  void refresh_regexes(bool has_new, const Moment& moment, Effects& effects);

  // consumer_fencing.cc
  void fence(const std::vector<std::string>& ids, const Moment& moment, Effects& effects);
  void write_tombstones_of(std::string_view member, Effects& effects);

  // consumer_classic.cc
  [[nodiscard]] bool supports_classic(const kafka::JoinGroupRequest& request) const;
  [[nodiscard]] kafka::ErrorCode check_classic_member(std::string_view id, std::optional<std::string_view> instance_id,
                                                      const ConsumerMember*& member) const;
  [[nodiscard]] kafka::ErrorCode check_classic_generation(std::string_view id,
                                                          std::optional<std::string_view> instance_id,
                                                          std::int32_t generation, const ConsumerMember*& member) const;
  [[nodiscard]] bool is_waiting_for_others(const ConsumerMember& member) const;
  [[nodiscard]] kafka::ErrorCode check_leaving(std::string_view id, std::optional<std::string_view> instance_id,
                                               const ConsumerMember*& member) const;

  // conversion.cc
  [[nodiscard]] bool may_become_classic(const std::set<std::string_view>& without) const;
  bool become_classic(const std::set<std::string_view>& without, bool must_rebalance, std::string_view reason,
                      const Moment& moment, Effects& effects);

  // The fold.
  std::int32_t epoch_ = 1;
  std::int64_t metadata_hash_ = 0;
  bool has_partition_metadata_ = false;  // a record of older versions that is to go
  ConsumerMembers members_;
  TargetAssignment target_;
  Subscriptions subscriptions_;

  // What follows from the members.
  std::map<std::string, std::string, std::less<>> static_members_;     // the member's id, by instance id
  std::map<std::string, std::size_t, std::less<>> server_assignors_;   // how many would like it
  std::map<std::string, std::size_t, std::less<>> classic_protocols_;  // how many support it
  std::size_t classic_members_ = 0;
  PartitionEpochs partition_epochs_;

  // Beside the fold.
  Deadlines<TimerKey> timers_;
  std::optional<Instant> metadata_fresh_until_;  // then the hash is computed again; nullopt: it has to be
  bool has_new_topics_ = true;                   // that the regular expressions were not matched with
  std::unique_ptr<Group> successor_;
};

}  // namespace tailrace::groupcoord
