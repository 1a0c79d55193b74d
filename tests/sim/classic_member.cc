#include "tests/sim/classic_member.h"

#include <chrono>
#include <utility>

#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::sim {

using kafka::ErrorCode;

namespace {

constexpr Duration kSessionTimeout = std::chrono::milliseconds(ClassicMember::kSessionTimeoutMs);

// The assignment of a member, and its subscription, in a form of our own: the coordinator looks at neither.
std::vector<std::byte> bytes_of(const GroupLedger::Partitions& partitions) {
  std::vector<std::byte> bytes;
  for (const std::int32_t each : partitions) bytes.push_back(static_cast<std::byte>(each));
  return bytes;
}
GroupLedger::Partitions partitions_of(Bytes bytes) {
  GroupLedger::Partitions partitions;
  for (const std::byte each : bytes) partitions.insert(std::to_integer<std::int32_t>(each));
  return partitions;
}

std::int16_t error_of(const kafka::OffsetCommitResponse& response) {
  return response.topics.at(0).partitions.at(0).error_code;
}
template <class Response>
std::int16_t error_of(const Response& response) {
  return response.error_code;
}

}  // namespace

ClassicMember::ClassicMember(GroupNetwork& network, std::string group, std::string topic, std::int32_t partitions,
                             int number, std::string instance)
    : network_(network),
      group_(std::move(group)),
      topic_(std::move(topic)),
      partitions_(partitions),
      number_(number),
      instance_(std::move(instance)) {
  come_back();
}

ClassicMember::~ClassicMember() = default;

std::string ClassicMember::text() const {
  return fmt::format("member {} of {} ({}, generation {}, {} partitions, {} heartbeats)", number_, group_,
                     is_alive_ ? member_id_ : "gone", generation_, assignment_.size(), heartbeats_);
}

template <class Response, class Request>
void ClassicMember::ask(const Request& request, std::int16_t version,
                        void (ClassicMember::*then)(const Response*, ErrorCode)) {
  kafka::Buffer body;
  kafka::encode(request, version, body);
  asked_at_ = network_.schedule().now();
  network_.call(Request::kMessage.api_key, version, "client" + std::to_string(number_),
                {body.bytes().begin(), body.bytes().end()}, life_, [this, version, then](const GroupAnswer& answer) {
                  if (answer.is_lost) return (this->*then)(nullptr, ErrorCode::NETWORK_EXCEPTION);
                  if (answer.error != ErrorCode::NONE) return (this->*then)(nullptr, answer.error);
                  const auto response = kafka::decode_exactly<Response>(answer.body, version);
                  if (!response) return network_.schedule().fail("a response of {} is not one", group_);
                  (this->*then)(&*response, static_cast<ErrorCode>(error_of(*response)));
                });
}

void ClassicMember::after(std::int64_t low_us, std::int64_t high_us, void (ClassicMember::*then)()) {
  Schedule& schedule = network_.schedule();
  schedule.after(Duration{schedule.random.between(low_us, high_us)}, life_, [this, then] { (this->*then)(); });
}

void ClassicMember::come_back() {
  is_alive_ = true;
  life_ = std::make_shared<int>(0);
  member_id_.clear();
  generation_ = -1;
  heartbeats_ = 0;
  after(0, 500'000, &ClassicMember::join);
}

// Without a word; what is on its way to it is lost.
void ClassicMember::die() {
  network_.schedule().note("{} dies", text());
  revoke();
  is_alive_ = false;
  life_.reset();
  Schedule& schedule = network_.schedule();
  // Sooner or later than its session ends.
  life_ = std::make_shared<int>(0);
  schedule.after(Duration{schedule.random.between(100'000, 15'000'000)}, life_, [this] { come_back(); });
}

void ClassicMember::revoke() {
  network_.ledger().on_revoked(group_, number_);
  assignment_.clear();
  heartbeats_ = 0;
}

void ClassicMember::go_on_after(ErrorCode error) {
  switch (error) {
    case ErrorCode::NETWORK_EXCEPTION:
    case ErrorCode::COORDINATOR_NOT_AVAILABLE:
    case ErrorCode::COORDINATOR_LOAD_IN_PROGRESS:
    case ErrorCode::NOT_COORDINATOR:
      if (network_.schedule().now() > last_contact_ + kSessionTimeout) break;  // nobody can tell whether it is in still
      return generation_ < 0 ? after(50'000, 200'000, &ClassicMember::join)
                             : after(50'000, 200'000, &ClassicMember::heartbeat);
    case ErrorCode::REBALANCE_IN_PROGRESS:
      revoke();
      return join();
    case ErrorCode::FENCED_INSTANCE_ID:
      if (!instance_.empty()) return die();
      [[fallthrough]];
    case ErrorCode::UNKNOWN_MEMBER_ID:
    case ErrorCode::ILLEGAL_GENERATION:
      member_id_.clear();
      break;
    default:
      return network_.schedule().fail("{} is answered with error {}", text(), kafka::error_name(error));
  }
  revoke();
  generation_ = -1;
  after(50'000, 200'000, &ClassicMember::join);
}

// -- Joining -------------------------------------------------------------------------------------------------------

void ClassicMember::join() {
  kafka::JoinGroupRequest request;
  request.group_id = group_;
  request.session_timeout_ms = kSessionTimeoutMs;
  request.rebalance_timeout_ms = kRebalanceTimeoutMs;
  request.member_id = member_id_;
  if (!instance_.empty()) request.group_instance_id = instance_;
  request.protocol_type = "sim";
  const std::vector<std::byte> metadata = bytes_of({number_});
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
  last_contact_ = network_.schedule().now();
  if (network_.schedule().random.one_in(20) && !network_.is_calm()) return die();
  if (network_.schedule().random.one_in(4)) return after(0, 2'000'000, &ClassicMember::sync);
  sync();
}

void ClassicMember::sync() {
  kafka::SyncGroupRequest request;
  request.group_id = group_;
  request.generation_id = generation_;
  request.member_id = member_id_;
  if (!instance_.empty()) request.group_instance_id = instance_;
  request.protocol_type = "sim";
  request.protocol_name = "first";
  std::vector<std::vector<std::byte>> kept;
  if (is_leader_) {
    std::vector<GroupLedger::Partitions> shares(members_.size());
    for (std::int32_t i = 0; i < partitions_; ++i) shares[static_cast<std::size_t>(i) % shares.size()].insert(i);
    for (const auto& share : shares) kept.push_back(bytes_of(share));
    for (std::size_t i = 0; i < members_.size(); ++i) {
      request.assignments.push_back({.member_id = members_[i], .assignment = kept[i]});
    }
  }
  ask<kafka::SyncGroupResponse>(request, 5, &ClassicMember::on_synced);
}

void ClassicMember::on_synced(const kafka::SyncGroupResponse* response, ErrorCode error) {
  if (error != ErrorCode::NONE) return go_on_after(error);
  assignment_ = partitions_of(response->assignment);
  last_contact_ = asked_at_;
  network_.ledger().on_contact(group_, number_, asked_at_ + kSessionTimeout);
  network_.ledger().on_assigned(group_, generation_, true, number_, identity(), assignment_);
  network_.schedule().note("{} has {} partitions", text(), assignment_.size());
  live();
}

// -- In a generation -----------------------------------------------------------------------------------------------

void ClassicMember::live() {
  Random& random = network_.schedule().random;
  if (!network_.is_calm() && random.one_in(12)) return random.one_in(2) ? leave() : die();
  if (!assignment_.empty() && random.one_in(2)) return after(1'000, 500'000, &ClassicMember::commit);
  after(500'000, 2'000'000, &ClassicMember::heartbeat);
}

void ClassicMember::heartbeat() {
  kafka::HeartbeatRequest request{.group_id = group_, .generation_id = generation_, .member_id = member_id_};
  if (!instance_.empty()) request.group_instance_id = instance_;
  ask<kafka::HeartbeatResponse>(request, 4, &ClassicMember::on_heartbeat);
}

void ClassicMember::on_heartbeat(const kafka::HeartbeatResponse*, ErrorCode error) {
  if (error != ErrorCode::NONE) return go_on_after(error);
  ++heartbeats_;
  last_contact_ = asked_at_;
  network_.ledger().on_contact(group_, number_, asked_at_ + kSessionTimeout);
  live();
}

void ClassicMember::commit() {
  if (assignment_.empty()) return heartbeat();
  Random& random = network_.schedule().random;
  committing_ = *std::next(assignment_.begin(), static_cast<std::ptrdiff_t>(random.below(assignment_.size())));
  committed_ = network_.ledger().next_offset(group_, committing_);
  kafka::OffsetCommitRequest request;
  request.group_id = group_;
  request.generation_id_or_member_epoch = generation_;
  request.member_id = member_id_;
  if (!instance_.empty()) request.group_instance_id = instance_;
  request.topics = {{.name = topic_, .partitions = {{.partition_index = committing_, .committed_offset = committed_}}}};
  ask<kafka::OffsetCommitResponse>(request, 9, &ClassicMember::on_commit);
}

void ClassicMember::on_commit(const kafka::OffsetCommitResponse*, ErrorCode error) {
  if (error != ErrorCode::NONE) return go_on_after(error);
  last_contact_ = asked_at_;
  network_.ledger().on_committed(group_, committing_, committed_);
  live();
}

// -- The end -------------------------------------------------------------------------------------------------------

void ClassicMember::leave() {
  network_.schedule().note("{} leaves", text());
  revoke();
  kafka::LeaveGroupRequest request{.group_id = group_};
  request.members = {{.member_id = member_id_}};
  if (!instance_.empty()) request.members[0].group_instance_id = instance_;
  ask<kafka::LeaveGroupResponse>(request, 5, &ClassicMember::on_left);
}

void ClassicMember::on_left(const kafka::LeaveGroupResponse*, ErrorCode) { die(); }

}  // namespace tailrace::sim
