// The list of messages.
#include "services/kafka/message_types.h"

#include <array>

#include "services/kafka/messages/allocate_producer_ids.h"
#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/alter_configs.h"
#include "services/kafka/messages/alter_partition.h"
#include "services/kafka/messages/alter_partition_reassignments.h"
#include "services/kafka/messages/api_versions.h"
#include "services/kafka/messages/consumer_group_describe.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/consumer_group_records.h"
#include "services/kafka/messages/consumer_protocol.h"
#include "services/kafka/messages/controlled_shutdown.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_groups.h"
#include "services/kafka/messages/delete_records.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/describe_client_quotas.h"
#include "services/kafka/messages/describe_cluster.h"
#include "services/kafka/messages/describe_configs.h"
#include "services/kafka/messages/describe_groups.h"
#include "services/kafka/messages/describe_log_dirs.h"
#include "services/kafka/messages/describe_producers.h"
#include "services/kafka/messages/describe_topic_partitions.h"
#include "services/kafka/messages/describe_user_scram_credentials.h"
#include "services/kafka/messages/elect_leaders.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/find_coordinator.h"
#include "services/kafka/messages/get_telemetry_subscriptions.h"
#include "services/kafka/messages/group_lag.h"
#include "services/kafka/messages/group_records.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/list_config_resources.h"
#include "services/kafka/messages/list_groups.h"
#include "services/kafka/messages/list_offsets.h"
#include "services/kafka/messages/list_partition_reassignments.h"
#include "services/kafka/messages/metadata.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/offset_fetch.h"
#include "services/kafka/messages/offset_for_leader_epoch.h"
#include "services/kafka/messages/produce.h"
#include "services/kafka/messages/push_telemetry.h"
#include "services/kafka/messages/share_group_records.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/kafka/messages/streams_group_records.h"
#include "services/kafka/messages/sync_group.h"
#include "services/kafka/messages/update_metadata.h"

namespace tailrace::kafka {
namespace {

template <class M>
Result<std::string> json_of(Bytes body, std::int16_t version) {
  const Result<M> message = decode<M>(body, version);
  if (!message) return std::unexpected(message.error());
  return to_json(*message, version);
}

template <class M>
Result<void> recode(Bytes body, std::int16_t version, std::size_t& used, Buffer& to) {
  const Result<M> message = Codec<M>::decode(body, version, &used);
  if (!message) return std::unexpected(message.error());
  const std::size_t start = to.size();
  encode(*message, version, to);
  if (encoded_size(*message, version) != to.size() - start) return failure(Code::mismatch, "sizing a message");
  return {};
}

template <class M>
void encode_random(Random& random, std::int16_t version, Buffer& to) {
  encode(Codec<M>::random(random, version), version, to);
}

template <class M>
bool begins_with_throttle_time(std::int16_t version) {
  if constexpr (requires(M m) { m.throttle_time_ms; }) {
    constexpr std::int32_t kMark = 0x7A6B5C4D;
    M message;
    message.throttle_time_ms = kMark;
    Buffer bytes;
    encode(message, version, bytes);
    return bytes.size() >= sizeof kMark && load_big_endian<std::int32_t>(bytes.bytes().data()) == kMark;
  } else {
    return false;
  }
}

template <class M>
constexpr MessageType type_of() {
  return {M::kMessage, json_of<M>, recode<M>, encode_random<M>, begins_with_throttle_time<M>, Codec<M>::markdown};
}

constexpr std::array kMessageTypes = {
    type_of<ProduceRequest>(),
    type_of<ProduceResponse>(),
    type_of<FetchRequest>(),
    type_of<FetchResponse>(),
    type_of<ListOffsetsRequest>(),
    type_of<ListOffsetsResponse>(),
    type_of<MetadataRequest>(),
    type_of<MetadataResponse>(),
    type_of<LeaderAndIsrRequest>(),
    type_of<LeaderAndIsrResponse>(),
    type_of<StopReplicaRequest>(),
    type_of<StopReplicaResponse>(),
    type_of<UpdateMetadataRequest>(),
    type_of<UpdateMetadataResponse>(),
    type_of<ControlledShutdownRequest>(),
    type_of<ControlledShutdownResponse>(),
    type_of<OffsetCommitRequest>(),
    type_of<OffsetCommitResponse>(),
    type_of<OffsetFetchRequest>(),
    type_of<OffsetFetchResponse>(),
    type_of<FindCoordinatorRequest>(),
    type_of<FindCoordinatorResponse>(),
    type_of<JoinGroupRequest>(),
    type_of<JoinGroupResponse>(),
    type_of<HeartbeatRequest>(),
    type_of<HeartbeatResponse>(),
    type_of<LeaveGroupRequest>(),
    type_of<LeaveGroupResponse>(),
    type_of<SyncGroupRequest>(),
    type_of<SyncGroupResponse>(),
    type_of<DescribeGroupsRequest>(),
    type_of<DescribeGroupsResponse>(),
    type_of<ListGroupsRequest>(),
    type_of<ListGroupsResponse>(),
    type_of<ApiVersionsRequest>(),
    type_of<ApiVersionsResponse>(),
    type_of<CreateTopicsRequest>(),
    type_of<CreateTopicsResponse>(),
    type_of<DeleteTopicsRequest>(),
    type_of<DeleteTopicsResponse>(),
    type_of<DeleteRecordsRequest>(),
    type_of<DeleteRecordsResponse>(),
    type_of<InitProducerIdRequest>(),
    type_of<InitProducerIdResponse>(),
    type_of<OffsetForLeaderEpochRequest>(),
    type_of<OffsetForLeaderEpochResponse>(),
    type_of<DescribeConfigsRequest>(),
    type_of<DescribeConfigsResponse>(),
    type_of<AlterConfigsRequest>(),
    type_of<AlterConfigsResponse>(),
    type_of<DescribeLogDirsRequest>(),
    type_of<DescribeLogDirsResponse>(),
    type_of<CreatePartitionsRequest>(),
    type_of<CreatePartitionsResponse>(),
    type_of<DeleteGroupsRequest>(),
    type_of<DeleteGroupsResponse>(),
    type_of<ElectLeadersRequest>(),
    type_of<ElectLeadersResponse>(),
    type_of<IncrementalAlterConfigsRequest>(),
    type_of<IncrementalAlterConfigsResponse>(),
    type_of<AlterPartitionReassignmentsRequest>(),
    type_of<AlterPartitionReassignmentsResponse>(),
    type_of<ListPartitionReassignmentsRequest>(),
    type_of<ListPartitionReassignmentsResponse>(),
    type_of<OffsetDeleteRequest>(),
    type_of<OffsetDeleteResponse>(),
    type_of<DescribeClientQuotasRequest>(),
    type_of<DescribeClientQuotasResponse>(),
    type_of<AlterClientQuotasRequest>(),
    type_of<AlterClientQuotasResponse>(),
    type_of<DescribeUserScramCredentialsRequest>(),
    type_of<DescribeUserScramCredentialsResponse>(),
    type_of<AlterPartitionRequest>(),
    type_of<AlterPartitionResponse>(),
    type_of<DescribeClusterRequest>(),
    type_of<DescribeClusterResponse>(),
    type_of<DescribeProducersRequest>(),
    type_of<DescribeProducersResponse>(),
    type_of<AllocateProducerIdsRequest>(),
    type_of<AllocateProducerIdsResponse>(),
    type_of<ConsumerGroupHeartbeatRequest>(),
    type_of<ConsumerGroupHeartbeatResponse>(),
    type_of<ConsumerGroupDescribeRequest>(),
    type_of<ConsumerGroupDescribeResponse>(),
    type_of<GetTelemetrySubscriptionsRequest>(),
    type_of<GetTelemetrySubscriptionsResponse>(),
    type_of<PushTelemetryRequest>(),
    type_of<PushTelemetryResponse>(),
    type_of<ListConfigResourcesRequest>(),
    type_of<ListConfigResourcesResponse>(),
    type_of<DescribeTopicPartitionsRequest>(),
    type_of<DescribeTopicPartitionsResponse>(),
    type_of<ConfigImage>(),
    type_of<NodeRegistrationRequest>(),
    type_of<NodeRegistrationResponse>(),
    type_of<GroupLagRequest>(),
    type_of<GroupLagResponse>(),
    type_of<LegacyOffsetCommitKey>(),
    type_of<LegacyOffsetCommitValue>(),
    type_of<OffsetCommitKey>(),
    type_of<OffsetCommitValue>(),
    type_of<GroupMetadataKey>(),
    type_of<GroupMetadataValue>(),
    type_of<ConsumerGroupMetadataKey>(),
    type_of<ConsumerGroupMetadataValue>(),
    type_of<ConsumerGroupPartitionMetadataKey>(),
    type_of<ConsumerGroupPartitionMetadataValue>(),
    type_of<ConsumerGroupMemberMetadataKey>(),
    type_of<ConsumerGroupMemberMetadataValue>(),
    type_of<ConsumerGroupTargetAssignmentMetadataKey>(),
    type_of<ConsumerGroupTargetAssignmentMetadataValue>(),
    type_of<ConsumerGroupTargetAssignmentMemberKey>(),
    type_of<ConsumerGroupTargetAssignmentMemberValue>(),
    type_of<ConsumerGroupCurrentMemberAssignmentKey>(),
    type_of<ConsumerGroupCurrentMemberAssignmentValue>(),
    type_of<ConsumerGroupRegularExpressionKey>(),
    type_of<ConsumerGroupRegularExpressionValue>(),
    type_of<ShareGroupMemberMetadataKey>(),
    type_of<ShareGroupMemberMetadataValue>(),
    type_of<ShareGroupMetadataKey>(),
    type_of<ShareGroupMetadataValue>(),
    type_of<ShareGroupTargetAssignmentMetadataKey>(),
    type_of<ShareGroupTargetAssignmentMetadataValue>(),
    type_of<ShareGroupTargetAssignmentMemberKey>(),
    type_of<ShareGroupTargetAssignmentMemberValue>(),
    type_of<ShareGroupCurrentMemberAssignmentKey>(),
    type_of<ShareGroupCurrentMemberAssignmentValue>(),
    type_of<ShareGroupStatePartitionMetadataKey>(),
    type_of<ShareGroupStatePartitionMetadataValue>(),
    type_of<StreamsGroupMetadataKey>(),
    type_of<StreamsGroupMetadataValue>(),
    type_of<StreamsGroupMemberMetadataKey>(),
    type_of<StreamsGroupMemberMetadataValue>(),
    type_of<StreamsGroupTargetAssignmentMetadataKey>(),
    type_of<StreamsGroupTargetAssignmentMetadataValue>(),
    type_of<StreamsGroupTargetAssignmentMemberKey>(),
    type_of<StreamsGroupTargetAssignmentMemberValue>(),
    type_of<StreamsGroupCurrentMemberAssignmentKey>(),
    type_of<StreamsGroupCurrentMemberAssignmentValue>(),
    type_of<StreamsGroupTopologyKey>(),
    type_of<StreamsGroupTopologyValue>(),
    type_of<ConsumerProtocolSubscription>(),
    type_of<ConsumerProtocolAssignment>(),
};

}  // namespace

std::span<const MessageType> message_types() { return kMessageTypes; }

const MessageType* find_message_type(std::int16_t api_key, MessageKind kind) {
  for (const MessageType& type : kMessageTypes) {
    if (type.info.api_key == api_key && type.info.kind == kind) return &type;
  }
  return nullptr;
}

std::string messages_markdown() {
  std::string out =
      "# Messages\n\n"
      "Every message that Tailrace reads or writes, by field, in the order of the wire. This page is generated from "
      "the\n"
      "describe() functions in `services/kafka/messages`; `TAILRACE_UPDATE_DOCS=1 kafka_codec_test` writes it anew.\n\n"
      "Versions are those that the codec knows; which of them are served is in `services/kafka/api_table.cc`. \"null\" "
      "gives\n"
      "the versions in which the field may be null; \"tag\" the number of a tagged field. Defaults that are zero or "
      "empty are\n"
      "left out.\n";
  for (const MessageType& type : kMessageTypes) out += "\n" + type.markdown();
  return out;
}

}  // namespace tailrace::kafka
