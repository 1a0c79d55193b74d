#include "tests/sim/classic_member.h"

#include <chrono>
#include <utility>

#include "engine/base/check.h"
#include "services/kafka/api_table.h"
#include "services/kafka/consumer_protocol.h"
#include "services/kafka/messages/consumer_protocol.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::sim {

using kafka::ErrorCode;

namespace {

constexpr Duration kSessionTimeout = std::chrono::milliseconds(GroupMember::kSessionTimeoutMs);

template <class Message>
std::vector<std::byte> consumer_bytes(const Message& message) {
  kafka::Buffer buffer;
  CHECK(kafka::encode_consumer_protocol(message, Message::kMessage.version_max, buffer));
  return {buffer.bytes().begin(), buffer.bytes().end()};
}

// The assignment of a member. In a group that stays classic it has a form of our own: the coordinator does not look.
std::vector<std::byte> bytes_of(const GroupLedger::Partitions& partitions, const GroupPlan& plan) {
  std::vector<std::byte> bytes;
  if (plan.is_mixed) {
    kafka::ConsumerProtocolAssignment assignment;
    if (!partitions.empty()) {
      assignment.assigned_partitions = {{.topic = plan.topic, .partitions = {partitions.begin(), partitions.end()}}};
    }
    return consumer_bytes(assignment);
  }
  for (const std::int32_t each : partitions) bytes.push_back(static_cast<std::byte>(each));
  return bytes;
}
// nullopt: it is none.
std::optional<GroupLedger::Partitions> partitions_of(Bytes bytes, const GroupPlan& plan) {
  GroupLedger::Partitions partitions;
  if (plan.is_mixed && !bytes.empty()) {
    const auto assignment = kafka::decode_consumer_protocol<kafka::ConsumerProtocolAssignment>(bytes);
    if (!assignment) return std::nullopt;
    for (const auto& topic : assignment->assigned_partitions) {
      if (topic.topic != plan.topic) return std::nullopt;
      partitions.insert(topic.partitions.begin(), topic.partitions.end());
    }
    return partitions;
  }
  for (const std::byte each : bytes) partitions.insert(std::to_integer<std::int32_t>(each));
  return partitions;
}

std::vector<std::byte> subscription_to(const GroupPlan& plan) {
  kafka::ConsumerProtocolSubscription subscription;
  subscription.topics = {plan.topic};
  return consumer_bytes(subscription);
}

}  // namespace

void ClassicMember::revoke() {
  GroupMember::revoke();
  is_synced_ = false;
}

void ClassicMember::go_on_after(ErrorCode error) {
  switch (error) {
    case ErrorCode::NETWORK_EXCEPTION:
    case ErrorCode::COORDINATOR_NOT_AVAILABLE:
    case ErrorCode::COORDINATOR_LOAD_IN_PROGRESS:
    case ErrorCode::NOT_COORDINATOR:
      if (schedule().now() > last_contact_ + kSessionTimeout) break;  // nobody can tell whether it is in still
      return is_synced_ ? after(50'000, 200'000, &ClassicMember::heartbeat)
                        : after(50'000, 200'000, &ClassicMember::join);
    case ErrorCode::REBALANCE_IN_PROGRESS:
      // In a consumer group it may commit in an older epoch for what it has kept, or has again.
      if (!plan_.is_mixed && !assignment_.empty() && schedule().random.one_in(3)) {
        commit_late(any_partition(), 5'000'000);
      }
      revoke();
      return join();
    case ErrorCode::FENCED_INSTANCE_ID:
      if (!instance_.empty()) return die();
      [[fallthrough]];
    case ErrorCode::UNKNOWN_MEMBER_ID:
      member_id_.clear();
      if (is_synced_) on_thrown_out(error, last_contact_ + kSessionTimeout);
      break;
    case ErrorCode::ILLEGAL_GENERATION:
      // A group that becomes a classic one has a new generation, which its members hear of in this way.
      if (is_synced_ && !plan_.is_mixed) on_thrown_out(error, last_contact_ + kSessionTimeout);
      break;
    default:
      return schedule().fail("{} is answered with error {}", text(), kafka::error_name(error));
  }
  revoke();
  generation_ = -1;
  after(50'000, 200'000, &ClassicMember::join);
}

// -- Joining -------------------------------------------------------------------------------------------------------

void ClassicMember::join() {
  kafka::JoinGroupRequest request;
  request.group_id = group();
  request.session_timeout_ms = kSessionTimeoutMs;
  request.rebalance_timeout_ms = kRebalanceTimeoutMs;
  request.member_id = member_id_;
  request.group_instance_id = instance();
  request.protocol_type = protocol_type();
  const std::vector<std::byte> metadata = plan_.is_mixed ? subscription_to(plan_) : bytes_of({number_}, plan_);
  request.protocols = {{.name = "first", .metadata = metadata}, {.name = "second", .metadata = metadata}};
  ask<kafka::JoinGroupResponse>(request, 9, &ClassicMember::on_joined);
}

void ClassicMember::on_joined(const kafka::JoinGroupResponse* response, ErrorCode error) {
  if (error == ErrorCode::MEMBER_ID_REQUIRED) {
    member_id_ = response->member_id;
    return join();
  }
  if (error != ErrorCode::NONE) {
    generation_ = -1;
    return go_on_after(error);
  }
  member_id_ = response->member_id;
  generation_ = response->generation_id;
  is_leader_ = response->leader == member_id_ && !response->skip_assignment;
  members_.clear();
  for (const auto& member : response->members) members_.emplace_back(member.member_id);
  last_contact_ = schedule().now();
  if (schedule().random.one_in(20) && !network_.is_calm()) return die();
  if (schedule().random.one_in(4)) return after(0, 2'000'000, &ClassicMember::sync);
  sync();
}

void ClassicMember::sync() {
  kafka::SyncGroupRequest request;
  request.group_id = group();
  request.generation_id = generation_;
  request.member_id = member_id_;
  request.group_instance_id = instance();
  request.protocol_type = protocol_type();
  request.protocol_name = "first";
  std::vector<std::vector<std::byte>> kept;
  if (is_leader_) {
    std::vector<GroupLedger::Partitions> shares(members_.size());
    for (std::int32_t i = 0; i < plan_.partitions; ++i) shares[static_cast<std::size_t>(i) % shares.size()].insert(i);
    for (const auto& share : shares) kept.push_back(bytes_of(share, plan_));
    for (std::size_t i = 0; i < members_.size(); ++i) {
      request.assignments.push_back({.member_id = members_[i], .assignment = kept[i]});
    }
  }
  ask<kafka::SyncGroupResponse>(request, 5, &ClassicMember::on_synced);
}

void ClassicMember::on_synced(const kafka::SyncGroupResponse* response, ErrorCode error) {
  if (error != ErrorCode::NONE) return go_on_after(error);
  const auto assigned = partitions_of(response->assignment, plan_);
  if (!assigned) return schedule().fail("{} is assigned what it did not ask for", text());
  assignment_ = *assigned;
  is_synced_ = true;
  last_contact_ = asked_at_;
  ledger().on_contact(group(), number_, asked_at_ + kSessionTimeout);
  ledger().on_assigned(group(), generation_, !plan_.is_mixed, number_, identity(), assignment_);
  ledger().on_generation(group(), generation_);
  schedule().note("{} has {} partitions", text(), assignment_.size());
  live();
}

// -- In a generation -----------------------------------------------------------------------------------------------

void ClassicMember::live() {
  Random& random = schedule().random;
  if (!network_.is_calm() && random.one_in(12)) return random.one_in(2) ? leave() : die();
  if (!assignment_.empty() && random.one_in(2)) return after(1'000, 500'000, &ClassicMember::commit);
  after(500'000, 2'000'000, &ClassicMember::heartbeat);
}

void ClassicMember::heartbeat() {
  kafka::HeartbeatRequest request{.group_id = group(), .generation_id = generation_, .member_id = member_id_};
  request.group_instance_id = instance();
  ask<kafka::HeartbeatResponse>(request, 4, &ClassicMember::on_heartbeat);
}

void ClassicMember::on_heartbeat(const kafka::HeartbeatResponse*, ErrorCode error) {
  if (error != ErrorCode::NONE) return go_on_after(error);
  if (!plan_.is_mixed && generation_ < asked_generation_) {
    return schedule().fail("{} is not told of generation {}", text(), asked_generation_);
  }
  ++heartbeats_;
  last_contact_ = asked_at_;
  ledger().on_contact(group(), number_, asked_at_ + kSessionTimeout);
  live();
}

void ClassicMember::on_commit(const kafka::OffsetCommitResponse*, ErrorCode error) {
  if (error != ErrorCode::NONE) return go_on_after(error);
  // In a consumer group a commit is no sign of life.
  if (!plan_.is_mixed) last_contact_ = asked_at_;
  ledger().on_committed(group(), number_, committing_, committed_, asked_at_);
  live();
}

// -- The end -------------------------------------------------------------------------------------------------------

void ClassicMember::leave() {
  schedule().note("{} leaves", text());
  revoke();
  kafka::LeaveGroupRequest request{.group_id = group()};
  request.members = {{.member_id = member_id_}};
  request.members[0].group_instance_id = instance();
  ask<kafka::LeaveGroupResponse>(request, 5, &ClassicMember::on_left);
}

void ClassicMember::on_left(const kafka::LeaveGroupResponse*, ErrorCode) { die(); }

}  // namespace tailrace::sim
