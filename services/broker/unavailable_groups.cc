// What clients hear of a request about groups that groupcoord has not answered, or refuses as a whole.
#include <utility>

#include "services/broker/request.h"
#include "services/broker/unavailable.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/consumer_group_describe.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/delete_groups.h"
#include "services/kafka/messages/describe_groups.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/list_groups.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/offset_fetch.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::broker {
namespace {

constexpr std::int16_t kFirstOffsetFetchWithError = 2;
constexpr std::int16_t kFirstOffsetFetchWithGroups = 8;

void answer(const kafka::JoinGroupRequest& asked, std::int16_t error, kafka::JoinGroupResponse& response,
            std::int16_t version) {
  response.error_code = error;
  response.member_id = asked.member_id;
  if (version >= 7) response.protocol_name.reset();
}
void answer(const kafka::OffsetCommitRequest& asked, std::int16_t error, kafka::OffsetCommitResponse& response,
            std::int16_t) {
  for (const auto& topic : asked.topics) {
    auto& made = response.topics.emplace_back();
    made.name = topic.name;
    made.topic_id = topic.topic_id;
    for (const auto& each : topic.partitions) made.partitions.push_back({each.partition_index, error, {}});
  }
}
// OffsetFetchResponse's rules for errors of a whole group, per version.
void answer(const kafka::OffsetFetchRequest& asked, std::int16_t error, kafka::OffsetFetchResponse& response,
            std::int16_t version) {
  for (const auto& group : asked.groups) response.groups.push_back({.group_id = group.group_id, .error_code = error});
  if (version >= kFirstOffsetFetchWithGroups) return;
  response.error_code = error;
  if (version >= kFirstOffsetFetchWithError || !asked.topics) return;
  for (const auto& topic : *asked.topics) {
    auto& made = response.topics.emplace_back();
    made.name = topic.name;
    for (const std::int32_t index : topic.partition_indexes) {
      made.partitions.push_back({.partition_index = index, .committed_offset = kNoOffset, .error_code = error});
    }
  }
}
void answer(const kafka::DescribeGroupsRequest& asked, std::int16_t error, kafka::DescribeGroupsResponse& response,
            std::int16_t) {
  for (const std::string_view group : asked.groups) response.groups.push_back({.error_code = error, .group_id = group});
}
void answer(const kafka::ConsumerGroupDescribeRequest& asked, std::int16_t error,
            kafka::ConsumerGroupDescribeResponse& response, std::int16_t) {
  for (const std::string_view group : asked.group_ids) {
    response.groups.push_back({.error_code = error, .group_id = group});
  }
}
void answer(const kafka::DeleteGroupsRequest& asked, std::int16_t error, kafka::DeleteGroupsResponse& response,
            std::int16_t) {
  for (const std::string_view group : asked.groups_names) {
    response.results.push_back({.group_id = group, .error_code = error});
  }
}
// All others have one error for the whole.
template <class Asked, class Response>
void answer(const Asked&, std::int16_t error, Response& response, std::int16_t) {
  response.error_code = error;
}

template <class Asked, class Response>
void answer_with(Request& request, std::int16_t error) {
  const std::int16_t version = request.header.api_version;
  const auto asked = kafka::decode<Asked>(request.body, version);
  if (!asked) return request.refuse();
  Response response;
  answer(*asked, error, response, version);
  request.respond(std::move(response));
}

}  // namespace

void answer_group_error(Request& request, std::int16_t error) {
  switch (request.header.api_key) {
    case kafka::api_key::kJoinGroup:
      return answer_with<kafka::JoinGroupRequest, kafka::JoinGroupResponse>(request, error);
    case kafka::api_key::kSyncGroup:
      return answer_with<kafka::SyncGroupRequest, kafka::SyncGroupResponse>(request, error);
    case kafka::api_key::kHeartbeat:
      return answer_with<kafka::HeartbeatRequest, kafka::HeartbeatResponse>(request, error);
    case kafka::api_key::kLeaveGroup:
      return answer_with<kafka::LeaveGroupRequest, kafka::LeaveGroupResponse>(request, error);
    case kafka::api_key::kOffsetCommit:
      return answer_with<kafka::OffsetCommitRequest, kafka::OffsetCommitResponse>(request, error);
    case kafka::api_key::kOffsetFetch:
      return answer_with<kafka::OffsetFetchRequest, kafka::OffsetFetchResponse>(request, error);
    case kafka::api_key::kOffsetDelete:
      return answer_with<kafka::OffsetDeleteRequest, kafka::OffsetDeleteResponse>(request, error);
    case kafka::api_key::kListGroups:
      return answer_with<kafka::ListGroupsRequest, kafka::ListGroupsResponse>(request, error);
    case kafka::api_key::kDescribeGroups:
      return answer_with<kafka::DescribeGroupsRequest, kafka::DescribeGroupsResponse>(request, error);
    case kafka::api_key::kConsumerGroupDescribe:
      return answer_with<kafka::ConsumerGroupDescribeRequest, kafka::ConsumerGroupDescribeResponse>(request, error);
    case kafka::api_key::kDeleteGroups:
      return answer_with<kafka::DeleteGroupsRequest, kafka::DeleteGroupsResponse>(request, error);
    case kafka::api_key::kConsumerGroupHeartbeat:
      return answer_with<kafka::ConsumerGroupHeartbeatRequest, kafka::ConsumerGroupHeartbeatResponse>(request, error);
    default:
      return request.refuse();
  }
}

}  // namespace tailrace::broker
