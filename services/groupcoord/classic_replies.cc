#include "services/groupcoord/classic_replies.h"

#include <utility>

#include "services/groupcoord/settings.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

ErrorCode check_join(const kafka::JoinGroupRequest& request, const Settings& settings) {
  if (request.group_id.empty()) return ErrorCode::INVALID_GROUP_ID;
  const std::int32_t timeout_ms = request.session_timeout_ms;
  const bool is_sound = timeout_ms >= settings.session_timeout_min_ms && timeout_ms <= settings.session_timeout_max_ms;
  return is_sound ? ErrorCode::NONE : ErrorCode::INVALID_SESSION_TIMEOUT;
}

ErrorCode check_sync(const kafka::SyncGroupRequest& request, std::int16_t version) {
  if (version >= 5 && !(request.protocol_type && request.protocol_name)) return ErrorCode::INCONSISTENT_GROUP_PROTOCOL;
  return request.group_id.empty() ? ErrorCode::INVALID_GROUP_ID : ErrorCode::NONE;
}

void refuse_join(const Call& call, std::string_view member_id, ErrorCode error, Effects& effects) {
  kafka::JoinGroupResponse response{.error_code = kafka::wire(error), .member_id = member_id};
  if (call.api_version >= 7) response.protocol_name = std::nullopt;
  effects.reply(call, response);
}

void refuse_sync(const Call& call, ErrorCode error, Effects& effects) {
  effects.reply(call, kafka::SyncGroupResponse{.error_code = kafka::wire(error)});
}

void answer_heartbeat(const Call& call, ErrorCode error, Effects& effects) {
  effects.reply(call, kafka::HeartbeatResponse{.error_code = kafka::wire(error)});
}

void refuse_leave(const Call& call, ErrorCode error, Effects& effects) {
  effects.reply(call, kafka::LeaveGroupResponse{.error_code = kafka::wire(error)});
}

void refuse_leave_of_unknown(const Call& call, const kafka::LeaveGroupRequest& request, Effects& effects) {
  if (call.api_version < 3) return refuse_leave(call, ErrorCode::UNKNOWN_MEMBER_ID, effects);
  kafka::LeaveGroupResponse response;
  response.members.reserve(request.members.size());
  for (const auto& member : request.members) {
    response.members.push_back({.member_id = member.member_id,
                                .group_instance_id = member.group_instance_id,
                                .error_code = kafka::wire(ErrorCode::UNKNOWN_MEMBER_ID)});
  }
  effects.reply(call, response);
}

void answer_leave(const Call& call, kafka::LeaveGroupResponse response, Effects& effects) {
  if (call.api_version < 3) {
    if (response.error_code == 0 && !response.members.empty())
      response.error_code = response.members.front().error_code;
    response.members.clear();
  }
  effects.reply(call, response);
}

}  // namespace tailrace::groupcoord
