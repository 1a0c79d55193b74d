#include "tests/sim/group_member.h"

#include <chrono>
#include <utility>

#include "services/kafka/api_table.h"
#include "services/kafka/messages/offset_commit.h"

namespace tailrace::sim {

using kafka::ErrorCode;

namespace {

constexpr std::int16_t kCommitVersion = 9;

}  // namespace

GroupMember::GroupMember(GroupNetwork& network, const GroupPlan& plan, int number, std::string instance)
    : network_(network), plan_(plan), number_(number), instance_(std::move(instance)) {
  come_back();
}

GroupMember::~GroupMember() = default;

std::string GroupMember::text() const {
  return fmt::format("member {} of {} ({}, generation {}, {} partitions, {} heartbeats)", number_, group(),
                     is_alive_ ? member_id_ : "gone", generation_, assignment_.size(), heartbeats_);
}

std::int16_t GroupMember::error_of(const kafka::OffsetCommitResponse& response) {
  return response.topics.at(0).partitions.at(0).error_code;
}

// -- Life and death ------------------------------------------------------------------------------------------------

void GroupMember::come_back() {
  if (may_stay_away_ && network_.is_calm() && schedule().random.one_in(2)) {
    has_gone_ = true;
    return schedule().note("member {} of {} does not come back", number_, group());
  }
  is_alive_ = true;
  life_ = std::make_shared<int>(0);
  member_id_.clear();
  generation_ = -1;
  heartbeats_ = 0;
  after(0, 500'000, &GroupMember::begin);
}

void GroupMember::die() {
  schedule().note("{} dies", text());
  if (!assignment_.empty() && generation_ > 0 && schedule().random.one_in(2)) {
    commit_late(any_partition(), 15'000'000);
  }
  revoke();
  is_alive_ = false;
  // Sooner or later than its session ends.
  life_ = std::make_shared<int>(0);
  after(100'000, 15'000'000, &GroupMember::come_back);
}

void GroupMember::revoke() {
  ledger().on_revoked(group(), number_);
  assignment_.clear();
  heartbeats_ = 0;
}

void GroupMember::on_thrown_out(ErrorCode error, Instant not_before) {
  if (schedule().now() >= not_before) return;
  schedule().fail("{} is told {}, and has done all in time", text(), kafka::error_name(error));
}

std::int32_t GroupMember::any_partition() const {
  const auto chosen = schedule().random.below(assignment_.size());
  return *std::next(assignment_.begin(), static_cast<std::ptrdiff_t>(chosen));
}

// -- Commits -------------------------------------------------------------------------------------------------------

kafka::OffsetCommitRequest GroupMember::commit_of(std::int32_t partition, std::int64_t offset,
                                                  std::string_view member_id, std::int32_t generation) const {
  kafka::OffsetCommitRequest request;
  request.group_id = group();
  request.generation_id_or_member_epoch = generation;
  request.member_id = member_id;
  request.group_instance_id = instance();
  request.topics = {{.name = plan_.topic, .partitions = {{.partition_index = partition, .committed_offset = offset}}}};
  return request;
}

void GroupMember::commit() {
  committing_ = any_partition();
  committed_ = ledger().next_offset(group(), committing_);
  ask<kafka::OffsetCommitResponse>(commit_of(committing_, committed_, member_id_, generation_), kCommitVersion,
                                   &GroupMember::on_commit);
  network_.on_commit_sent(plan_);
}

void GroupMember::commit_late(std::int32_t partition, std::int64_t longest_us) {
  schedule().after(Duration{schedule().random.between(1'000, longest_us)}, beyond_,
                   [this, partition, member_id = member_id_, generation = generation_] {
                     commit_as(partition, member_id, generation);
                   });
}

void GroupMember::commit_as(std::int32_t partition, const std::string& member_id, std::int32_t generation) {
  const std::int64_t offset = ledger().next_offset(group(), partition);
  kafka::Buffer body;
  kafka::encode(commit_of(partition, offset, member_id, generation), kCommitVersion, body);
  network_.call(kafka::api_key::kOffsetCommit, kCommitVersion, client_id(), {body.bytes().begin(), body.bytes().end()},
                beyond_, [this, partition, offset, sent_at = schedule().now()](const GroupAnswer& answer) {
                  if (answer.is_lost || answer.error != ErrorCode::NONE) return;
                  const auto response = kafka::decode_exactly<kafka::OffsetCommitResponse>(answer.body, kCommitVersion);
                  if (!response) return schedule().fail("a response of {} is not one", group());
                  if (error_of(*response) != 0) return;
                  ledger().on_committed(group(), GroupLedger::kNobody, partition, offset, sent_at);
                });
}

}  // namespace tailrace::sim
