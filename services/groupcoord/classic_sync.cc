// SyncGroup: the leader brings what it has assigned, and each member gets its own part of it.
#include <map>
#include <utility>

#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/classic_replies.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

void ClassicGroup::sync(const Call& call, const kafka::SyncGroupRequest& request, const Moment& moment,
                        Effects& effects) {
  const ErrorCode error = check_syncing(request);
  if (error != ErrorCode::NONE) return refuse_sync(call, error, effects);
  ClassicMember& member = *members_.find(request.member_id);
  settle_sync(member);
  if (state_ == ClassicState::stable) return answer_sync(call, member, effects);

  // It asks again, over another connection most likely.
  const std::optional<Call> before = std::exchange(member.waiting_sync, call);
  if (before) refuse_sync(*before, ErrorCode::REBALANCE_IN_PROGRESS, effects);
  if (&member == members_.leader()) store_assignments(request, moment, effects);
}

ErrorCode ClassicGroup::check_syncing(const kafka::SyncGroupRequest& request) const {
  const ErrorCode error = check_member(request.member_id, request.group_instance_id);
  if (error != ErrorCode::NONE) return error;
  if (request.generation_id != generation_) return ErrorCode::ILLEGAL_GENERATION;
  const bool is_other_type = request.protocol_type && *request.protocol_type != protocol_type_;
  const bool is_other_name = request.protocol_name && protocol_name_ && *request.protocol_name != *protocol_name_;
  if (is_other_type || is_other_name) return ErrorCode::INCONSISTENT_GROUP_PROTOCOL;
  return state_ == ClassicState::preparing_rebalance ? ErrorCode::REBALANCE_IN_PROGRESS : ErrorCode::NONE;
}

// Whom the leader has forgotten gets nothing; what it has for others is passed over.
void ClassicGroup::store_assignments(const kafka::SyncGroupRequest& request, const Moment& moment, Effects& effects) {
  for (const auto& [id, member] : members_.all()) member->assignment.clear();
  for (const auto& given : request.assignments) {
    ClassicMember* member = members_.find(given.member_id);
    if (member != nullptr) member->assignment.assign(given.assignment.begin(), given.assignment.end());
  }
  Record written = record();
  if (!fits(written)) {
    for (const auto& [id, member] : members_.all()) member->assignment.clear();
    refuse_syncs(ErrorCode::UNKNOWN_SERVER_ERROR, moment, effects);
    return prepare_rebalance("the record of the group is too large", moment, effects);
  }
  effects.records.push_back(std::move(written));
  transition(ClassicState::stable, moment);
  for (const auto& [id, member] : members_.all()) {
    const std::optional<Call> call = std::exchange(member->waiting_sync, std::nullopt);
    if (!call) continue;
    answer_sync(*call, *member, effects);
    keep_alive(*member, moment);
  }
}

void ClassicGroup::answer_sync(const Call& call, const ClassicMember& member, Effects& effects) const {
  effects.reply(call,
                kafka::SyncGroupResponse{
                    .protocol_type = protocol_type_, .protocol_name = protocol_name_, .assignment = member.assignment});
}

void ClassicGroup::refuse_syncs(ErrorCode error, const Moment& moment, Effects& effects) {
  for (const auto& [id, member] : members_.all()) {
    const std::optional<Call> call = std::exchange(member->waiting_sync, std::nullopt);
    if (!call) continue;
    refuse_sync(*call, error, effects);
    keep_alive(*member, moment);
  }
}

void ClassicGroup::settle_sync(ClassicMember& member) {
  if (!std::exchange(member.owes_sync, false)) return;
  if (--owed_syncs_ == 0) sync_due_.reset();
}

void ClassicGroup::forget_syncs() {
  for (const auto& [id, member] : members_.all()) member->owes_sync = false;
  owed_syncs_ = 0;
  sync_due_.reset();
}

}  // namespace tailrace::groupcoord
