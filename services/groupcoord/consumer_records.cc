#include "services/groupcoord/consumer_records.h"

#include <vector>

#include "engine/base/check.h"
#include "services/groupcoord/consumer_member.h"
#include "services/groupcoord/subscriptions.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/consumer_group_records.h"

namespace tailrace::groupcoord {
namespace {

using kafka::GroupRecordType;

std::vector<std::byte> bytes_of(const kafka::Buffer& buffer) { return {buffer.bytes().begin(), buffer.bytes().end()}; }

// What is said here came in messages of Kafka's protocol or from the controller, whose strings are no longer than it
// can say.
template <class Key>
Record tombstone(const Key& key) {
  kafka::Buffer buffer;
  CHECK(kafka::encode_group_key(key, buffer).has_value());
  return {bytes_of(buffer), std::nullopt};
}

template <class Key, class Value>
Record record(const Key& key, const Value& value) {
  Record made = tombstone(key);
  kafka::Buffer buffer;
  CHECK(kafka::encode_group_value(value, 0, buffer).has_value());
  made.value = bytes_of(buffer);
  return made;
}

std::vector<std::string_view> views(const TopicNames& names) { return {names.begin(), names.end()}; }

using CurrentPartitions = std::vector<kafka::ConsumerGroupCurrentMemberAssignmentValue::TopicPartitions>;

CurrentPartitions current_partitions(const AssignmentEpochs& assignment) {
  CurrentPartitions topics;
  topics.reserve(assignment.size());
  for (const auto& [topic, epochs] : assignment) {
    auto& to = topics.emplace_back();
    to.topic_id = topic;
    to.assignment_epochs.emplace();
    for (const auto& [partition, epoch] : epochs) {
      to.partitions.push_back(partition);
      to.assignment_epochs->push_back(epoch);
    }
  }
  return topics;
}

}  // namespace

std::optional<std::string_view> consumer_group_of(Bytes key) {
  const auto type = kafka::group_record_type(key);
  if (!type) return std::nullopt;
  switch (*type) {
    case GroupRecordType::consumer_group_metadata:
    case GroupRecordType::consumer_group_partition_metadata:
    case GroupRecordType::consumer_group_member_metadata:
    case GroupRecordType::consumer_group_target_assignment_metadata:
    case GroupRecordType::consumer_group_target_assignment_member:
    case GroupRecordType::consumer_group_current_member_assignment:
    case GroupRecordType::consumer_group_regular_expression: {
      // All of these keys begin with the group.
      const auto decoded = kafka::decode<kafka::ConsumerGroupMetadataKey>(key.subspan(sizeof(std::int16_t)), 0);
      if (!decoded) return std::nullopt;
      return decoded->group_id;
    }
    default:
      return std::nullopt;
  }
}

Record group_epoch_record(std::string_view group, std::int32_t epoch, std::int64_t metadata_hash) {
  return record(kafka::ConsumerGroupMetadataKey{.group_id = group},
                kafka::ConsumerGroupMetadataValue{.epoch = epoch, .metadata_hash = metadata_hash});
}

Record group_epoch_tombstone(std::string_view group) {
  return tombstone(kafka::ConsumerGroupMetadataKey{.group_id = group});
}

Record partition_metadata_tombstone(std::string_view group) {
  return tombstone(kafka::ConsumerGroupPartitionMetadataKey{.group_id = group});
}

Record member_record(std::string_view group, const ConsumerMember& member) {
  kafka::ConsumerGroupMemberMetadataValue value{.instance_id = member.instance_id,
                                                .rack_id = member.rack_id,
                                                .client_id = member.client_id,
                                                .client_host = member.client_host,
                                                .subscribed_topic_names = views(member.topics),
                                                .subscribed_topic_regex = member.regex,
                                                .rebalance_timeout_ms = member.rebalance_timeout_ms,
                                                .server_assignor = member.server_assignor,
                                                .classic_member_metadata = std::nullopt};
  if (member.classic) {
    auto& classic =
        value.classic_member_metadata.emplace(kafka::ConsumerGroupMemberMetadataValue::ClassicMemberMetadata{});
    classic.session_timeout_ms = member.classic->session_timeout_ms;
    for (const ClassicProtocol& protocol : member.classic->protocols) {
      classic.supported_protocols.push_back({.name = protocol.name, .metadata = protocol.metadata});
    }
  }
  return record(kafka::ConsumerGroupMemberMetadataKey{.group_id = group, .member_id = member.id}, value);
}

Record member_tombstone(std::string_view group, std::string_view member) {
  return tombstone(kafka::ConsumerGroupMemberMetadataKey{.group_id = group, .member_id = member});
}

Record target_epoch_record(std::string_view group, std::int32_t epoch, TimestampMs computed_ms) {
  return record(kafka::ConsumerGroupTargetAssignmentMetadataKey{.group_id = group},
                kafka::ConsumerGroupTargetAssignmentMetadataValue{.assignment_epoch = epoch,
                                                                  .assignment_timestamp = computed_ms});
}

Record target_epoch_tombstone(std::string_view group) {
  return tombstone(kafka::ConsumerGroupTargetAssignmentMetadataKey{.group_id = group});
}

Record target_record(std::string_view group, std::string_view member, const Assignment& target) {
  kafka::ConsumerGroupTargetAssignmentMemberValue value;
  value.topic_partitions.reserve(target.size());
  for (const auto& [topic, partitions] : target) {
    value.topic_partitions.push_back({.topic_id = topic, .partitions = partitions});
  }
  return record(kafka::ConsumerGroupTargetAssignmentMemberKey{.group_id = group, .member_id = member}, value);
}

Record target_tombstone(std::string_view group, std::string_view member) {
  return tombstone(kafka::ConsumerGroupTargetAssignmentMemberKey{.group_id = group, .member_id = member});
}

Record current_assignment_record(std::string_view group, const ConsumerMember& member) {
  return record(kafka::ConsumerGroupCurrentMemberAssignmentKey{.group_id = group, .member_id = member.id},
                kafka::ConsumerGroupCurrentMemberAssignmentValue{
                    .member_epoch = member.epoch,
                    .previous_member_epoch = member.previous_epoch,
                    .state = static_cast<std::int8_t>(member.state),
                    .assigned_partitions = current_partitions(member.assigned),
                    .partitions_pending_revocation = current_partitions(member.revoking)});
}

Record current_assignment_tombstone(std::string_view group, std::string_view member) {
  return tombstone(kafka::ConsumerGroupCurrentMemberAssignmentKey{.group_id = group, .member_id = member});
}

Record regex_record(std::string_view group, std::string_view regex, const ResolvedRegex& resolved) {
  return record(kafka::ConsumerGroupRegularExpressionKey{.group_id = group, .regular_expression = regex},
                kafka::ConsumerGroupRegularExpressionValue{
                    .topics = views(resolved.topics), .version = resolved.version, .timestamp = resolved.resolved_ms});
}

Record regex_tombstone(std::string_view group, std::string_view regex) {
  return tombstone(kafka::ConsumerGroupRegularExpressionKey{.group_id = group, .regular_expression = regex});
}

}  // namespace tailrace::groupcoord
