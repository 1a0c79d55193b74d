// How the requests of classic groups are refused, each in its own words. Used by the group, and by whoever sees that
// there is no group. Before version 7 JoinGroup cannot say that there is no protocol; before version 3 LeaveGroup is
// about one member. PURE.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/groupcoord/effects.h"
#include "services/kafka/errors.h"

namespace tailrace::kafka {
struct JoinGroupRequest;
struct LeaveGroupRequest;
struct LeaveGroupResponse;
struct SyncGroupRequest;
}  // namespace tailrace::kafka

namespace tailrace::groupcoord {

struct Settings;

// What is wrong with the request, whatever the group (GroupCoordinatorService, KafkaApis): a group id that is empty, a
// session timeout out of bounds, a SyncGroup 5 that does not say the protocol. NONE: it may go to the group.
[[nodiscard]] kafka::ErrorCode check_join(const kafka::JoinGroupRequest& request, const Settings& settings);
[[nodiscard]] kafka::ErrorCode check_sync(const kafka::SyncGroupRequest& request, std::int16_t version);

// `member_id`: the client learns it: its own, or "" when it is not known any more.
void refuse_join(const Call& call, std::string_view member_id, kafka::ErrorCode error, Effects& effects);
void refuse_sync(const Call& call, kafka::ErrorCode error, Effects& effects);
void answer_heartbeat(const Call& call, kafka::ErrorCode error, Effects& effects);
// The request as a whole.
void refuse_leave(const Call& call, kafka::ErrorCode error, Effects& effects);
// There is no such group: none of the members is known.
void refuse_leave_of_unknown(const Call& call, const kafka::LeaveGroupRequest& request, Effects& effects);
// Brings the error of the one member to the top before version 3.
void answer_leave(const Call& call, kafka::LeaveGroupResponse response, Effects& effects);

}  // namespace tailrace::groupcoord
