// What one shard says about its groups: its part of ListGroups, DescribeGroups, ConsumerGroupDescribe and DeleteGroups.
// The service finds the shards of a request and joins their parts. Kafka: the same functions of GroupMetadataManager,
// and what KafkaApis adds. PURE.
//
// Answers borrow from the shard and the request, and from the room that they are given.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/groupcoord/answer_room.h"
#include "services/groupcoord/effects.h"
#include "services/kafka/messages/consumer_group_describe.h"
#include "services/kafka/messages/delete_groups.h"
#include "services/kafka/messages/describe_groups.h"
#include "services/kafka/messages/list_groups.h"

namespace tailrace::groupcoord {

class Shard;

using DescribedGroup = kafka::DescribeGroupsResponse::DescribedGroup;
using DescribedConsumerGroup = kafka::ConsumerGroupDescribeResponse::DescribedGroup;
using DeletedGroup = kafka::DeleteGroupsResponse::DeletableGroupResult;

// Adds those of the shard that pass the request's filters: by state, in any case and with spaces around, and by type,
// in any case. A state or type that there is not lets nothing through.
void list_groups(const Shard& shard, const kafka::ListGroupsRequest& request, kafka::ListGroupsResponse& response);

// A group that is none, or no classic one, is "Dead"; from version 6 on it is an error besides. INVALID_REQUEST: the
// answer would be too large.
[[nodiscard]] DescribedGroup describe_group(const Shard& shard, std::string_view group, bool with_operations,
                                            std::int16_t version, AnswerRoom& room);

// INVALID_GROUP_ID (""); UNSUPPORTED_VERSION: the protocol is not served; GROUP_ID_NOT_FOUND, also for a classic group;
// INVALID_REQUEST: the answer would be too large.
[[nodiscard]] DescribedConsumerGroup describe_consumer_group(const Shard& shard, std::string_view group,
                                                             bool with_operations, AnswerRoom& room);

// Shard::delete_group. A request that names a group twice means it once.
[[nodiscard]] DeletedGroup delete_group(Shard& shard, std::string_view group, Effects& effects);

}  // namespace tailrace::groupcoord
