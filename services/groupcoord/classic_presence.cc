// Whether a member of a classic group is still there: heartbeats, commits, leaving, and sessions that run out.
#include <utility>

#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/classic_replies.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/leave_group.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

ErrorCode ClassicGroup::check_member(std::string_view id, std::optional<std::string_view> instance_id) const {
  if (instance_id) {
    const ClassicMember* member = members_.find_static(*instance_id);
    if (member == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
    if (member->id != id) return ErrorCode::FENCED_INSTANCE_ID;
  }
  return members_.find(id) == nullptr ? ErrorCode::UNKNOWN_MEMBER_ID : ErrorCode::NONE;
}

void ClassicGroup::keep_alive(const ClassicMember& member, const Moment& moment) {
  sessions_.set(member.id, moment.now + std::chrono::milliseconds(member.session_timeout_ms));
}

void ClassicGroup::heartbeat(const Call& call, const kafka::HeartbeatRequest& request, const Moment& moment,
                             Effects& effects) {
  const ErrorCode error = check_member(request.member_id, request.group_instance_id);
  if (error != ErrorCode::NONE) return answer_heartbeat(call, error, effects);
  if (request.generation_id != generation_) return answer_heartbeat(call, ErrorCode::ILLEGAL_GENERATION, effects);
  keep_alive(*members_.find(request.member_id), moment);
  const bool is_rebalancing = state_ == ClassicState::preparing_rebalance;
  answer_heartbeat(call, is_rebalancing ? ErrorCode::REBALANCE_IN_PROGRESS : ErrorCode::NONE, effects);
}

// Kafka: ClassicGroup.validateOffsetCommit.
ErrorCode ClassicGroup::on_commit(const Committer& who, const Moment& moment) {
  if (is_empty() && who.generation < 0) return ErrorCode::NONE;  // from outside of the group
  if (who.generation >= 0 || !who.member_id.empty() || who.instance_id) {
    const ErrorCode error = check_member(who.member_id, who.instance_id);
    if (error != ErrorCode::NONE) return error;
    if (who.generation != generation_) return ErrorCode::ILLEGAL_GENERATION;
  } else if (!who.is_transactional) {
    return ErrorCode::UNKNOWN_MEMBER_ID;
  }
  if (who.is_transactional) return ErrorCode::NONE;  // older versions do not say who it is
  if (state_ == ClassicState::completing_rebalance) return ErrorCode::REBALANCE_IN_PROGRESS;
  keep_alive(*members_.find(who.member_id), moment);
  return ErrorCode::NONE;
}

// -- Leaving -------------------------------------------------------------------------------------------------------

void ClassicGroup::leave(const Call& call, const kafka::LeaveGroupRequest& request, const Moment& moment,
                         Effects& effects) {
  kafka::LeaveGroupResponse response;
  std::size_t left = 0;
  const auto take = [&](const kafka::LeaveGroupRequest::MemberIdentity& member) {
    const ErrorCode error = leave_one(member.member_id, member.group_instance_id, member.reason, effects);
    if (error == ErrorCode::NONE) ++left;
    response.members.push_back({.member_id = member.member_id,
                                .group_instance_id = member.group_instance_id,
                                .error_code = kafka::wire(error)});
  };
  if (call.api_version < 3) {
    take({.member_id = request.member_id});
  } else {
    response.members.reserve(request.members.size());
    for (const auto& member : request.members) take(member);
  }
  if (left > 0 && !is_empty()) prepare_or_complete(std::to_string(left) + " members have left", moment, effects);
  answer_leave(call, std::move(response), effects);
}

// Without a member id an instance id is enough: that is how static members are removed by hand.
ErrorCode ClassicGroup::leave_one(std::string_view id, std::optional<std::string_view> instance_id,
                                  std::optional<std::string_view> reason, Effects& effects) {
  std::string note = "group=" + shown(this->id()) + " member=" + shown(id) + " leaves";
  if (reason && !reason->empty()) note += " reason=\"" + shown(*reason) + "\"";
  if (members_.remove_pending(id)) {
    sessions_.clear(std::string(id));
    effects.notes.push_back(std::move(note));
    return ErrorCode::NONE;
  }
  ClassicMember* member = nullptr;
  if (id.empty()) {
    if (instance_id) member = members_.find_static(*instance_id);
    if (member == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
  } else {
    const ErrorCode error = check_member(id, instance_id);
    if (error != ErrorCode::NONE) return error;
    member = members_.find(id);
  }
  effects.notes.push_back(std::move(note));
  drop(*member, effects);
  return ErrorCode::NONE;
}

void ClassicGroup::drop(ClassicMember& member, Effects& effects) {
  if (const auto call = members_.set_waiting_join(member, std::nullopt)) {
    refuse_join(*call, "", ErrorCode::UNKNOWN_MEMBER_ID, effects);  // if it is still there, it joins again
  }
  if (const auto call = std::exchange(member.waiting_sync, std::nullopt)) {
    refuse_sync(*call, ErrorCode::UNKNOWN_MEMBER_ID, effects);
  }
  settle_sync(member);
  sessions_.clear(member.id);
  members_.remove(member);
}

void ClassicGroup::refuse_waiting(ErrorCode error, Effects& effects) {
  for (const auto& [id, member] : members_.all()) {
    if (const auto call = members_.set_waiting_join(*member, std::nullopt)) refuse_join(*call, id, error, effects);
    if (const auto call = std::exchange(member->waiting_sync, std::nullopt)) refuse_sync(*call, error, effects);
  }
}

// -- Sessions ------------------------------------------------------------------------------------------------------

// Whoever waits for an answer is there: its session begins anew with the answer. But for new members, who may be gone
// and back under another id.
void ClassicGroup::on_session_over(const std::string& id, const Moment& moment, Effects& effects) {
  ClassicMember* member = members_.find(id);
  const bool is_waiting = member != nullptr && (member->waiting_join || member->waiting_sync);
  if (is_waiting && !member->is_new) return;
  if (member != nullptr) {
    drop(*member, effects);
  } else if (!members_.remove_pending(id)) {
    return;
  }
  effects.notes.push_back("group=" + shown(this->id()) + " member=" + shown(id) + " has not been heard of in time");
  if (state_ == ClassicState::preparing_rebalance) {
    if (members_.have_all_joined()) complete_join(moment, effects);
  } else if (member != nullptr) {
    prepare_rebalance("a member is gone", moment, effects);
  }
}

}  // namespace tailrace::groupcoord
