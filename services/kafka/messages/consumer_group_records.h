// Records of `__consumer_offsets` about groups of the consumer protocol (KIP-848); of keys and versions see
// group_records.h. Kafka 4.1 and newer remove ConsumerGroupPartitionMetadata, and write metadata_hash in its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ConsumerGroupMetadataKey {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupMetadataKey",
                                        .api_key = 3,
                                        .kind = MessageKind::record_key,
                                        .version_min = 0,
                                        .version_max = 0};

  std::string_view group_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
  }
};

struct ConsumerGroupMetadataValue {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupMetadataValue",
                                        .api_key = 3,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::int32_t epoch = 0;
  std::int64_t metadata_hash = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("epoch", m.epoch);
    v.tagged(0, "metadata_hash", m.metadata_hash);
  }
};

struct ConsumerGroupPartitionMetadataKey {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupPartitionMetadataKey",
                                        .api_key = 4,
                                        .kind = MessageKind::record_key,
                                        .version_min = 0,
                                        .version_max = 0};

  std::string_view group_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
  }
};

struct ConsumerGroupPartitionMetadataValue {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupPartitionMetadataValue",
                                        .api_key = 4,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct PartitionMetadata {
    std::int32_t partition = 0;
    std::vector<std::string_view> racks{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition", m.partition);
      v("racks", m.racks);
    }
  };

  struct TopicMetadata {
    Uuid topic_id{};
    std::string_view topic_name{};
    std::int32_t num_partitions = 0;
    std::vector<PartitionMetadata> partition_metadata{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("topic_name", m.topic_name);
      v("num_partitions", m.num_partitions);
      v("partition_metadata", m.partition_metadata);
    }
  };

  std::vector<TopicMetadata> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
  }
};

struct ConsumerGroupMemberMetadataKey {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupMemberMetadataKey",
                                        .api_key = 5,
                                        .kind = MessageKind::record_key,
                                        .version_min = 0,
                                        .version_max = 0};

  std::string_view group_id{};
  std::string_view member_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("member_id", m.member_id);
  }
};

struct ConsumerGroupMemberMetadataValue {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupMemberMetadataValue",
                                        .api_key = 5,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct ClassicProtocol {
    std::string_view name{};
    Bytes metadata{};
    UnknownTaggedFields unknown_tagged_fields{};

    friend bool operator==(const ClassicProtocol& a, const ClassicProtocol& b) {
      return a.name == b.name && as_text(a.metadata) == as_text(b.metadata) &&
             a.unknown_tagged_fields == b.unknown_tagged_fields;
    }

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("metadata", m.metadata);
    }
  };

  struct ClassicMemberMetadata {
    std::int32_t session_timeout_ms = 0;
    std::vector<ClassicProtocol> supported_protocols{};
    UnknownTaggedFields unknown_tagged_fields{};
    friend bool operator==(const ClassicMemberMetadata&, const ClassicMemberMetadata&) = default;

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("session_timeout_ms", m.session_timeout_ms);
      v("supported_protocols", m.supported_protocols);
    }
  };

  std::optional<std::string_view> instance_id{""};
  std::optional<std::string_view> rack_id{""};
  std::string_view client_id{};
  std::string_view client_host{};
  std::vector<std::string_view> subscribed_topic_names{};
  std::optional<std::string_view> subscribed_topic_regex{""};
  std::int32_t rebalance_timeout_ms = -1;
  std::optional<std::string_view> server_assignor{""};
  std::optional<ClassicMemberMetadata> classic_member_metadata{ClassicMemberMetadata{}};  // Kafka writes null for none
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("instance_id", m.instance_id);
    v("rack_id", m.rack_id);
    v("client_id", m.client_id);
    v("client_host", m.client_host);
    v("subscribed_topic_names", m.subscribed_topic_names);
    v("subscribed_topic_regex", m.subscribed_topic_regex);
    v("rebalance_timeout_ms", m.rebalance_timeout_ms);
    v("server_assignor", m.server_assignor);
    v.tagged(0, "classic_member_metadata", m.classic_member_metadata, {}, std::optional(ClassicMemberMetadata{}));
  }
};

struct ConsumerGroupTargetAssignmentMetadataKey {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupTargetAssignmentMetadataKey",
                                        .api_key = 6,
                                        .kind = MessageKind::record_key,
                                        .version_min = 0,
                                        .version_max = 0};

  std::string_view group_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
  }
};

struct ConsumerGroupTargetAssignmentMetadataValue {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupTargetAssignmentMetadataValue",
                                        .api_key = 6,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::int32_t assignment_epoch = 0;
  std::int64_t assignment_timestamp = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("assignment_epoch", m.assignment_epoch);
    v.tagged(0, "assignment_timestamp", m.assignment_timestamp);
  }
};

struct ConsumerGroupTargetAssignmentMemberKey {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupTargetAssignmentMemberKey",
                                        .api_key = 7,
                                        .kind = MessageKind::record_key,
                                        .version_min = 0,
                                        .version_max = 0};

  std::string_view group_id{};
  std::string_view member_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("member_id", m.member_id);
  }
};

struct ConsumerGroupTargetAssignmentMemberValue {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupTargetAssignmentMemberValue",
                                        .api_key = 7,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TopicPartition {
    Uuid topic_id{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("partitions", m.partitions);
    }
  };

  std::vector<TopicPartition> topic_partitions{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topic_partitions", m.topic_partitions);
  }
};

struct ConsumerGroupCurrentMemberAssignmentKey {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupCurrentMemberAssignmentKey",
                                        .api_key = 8,
                                        .kind = MessageKind::record_key,
                                        .version_min = 0,
                                        .version_max = 0};

  std::string_view group_id{};
  std::string_view member_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("member_id", m.member_id);
  }
};

struct ConsumerGroupCurrentMemberAssignmentValue {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupCurrentMemberAssignmentValue",
                                        .api_key = 8,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TopicPartitions {
    Uuid topic_id{};
    std::vector<std::int32_t> partitions{};
    std::optional<std::vector<std::int32_t>> assignment_epochs{std::in_place};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("partitions", m.partitions);
      v.tagged(0, "assignment_epochs", m.assignment_epochs, {},
               std::optional<std::vector<std::int32_t>>{std::in_place});
    }
  };

  std::int32_t member_epoch = 0;
  std::int32_t previous_member_epoch = 0;
  std::int8_t state = 0;
  std::vector<TopicPartitions> assigned_partitions{};
  std::vector<TopicPartitions> partitions_pending_revocation{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("member_epoch", m.member_epoch);
    v("previous_member_epoch", m.previous_member_epoch);
    v("state", m.state);
    v("assigned_partitions", m.assigned_partitions);
    v("partitions_pending_revocation", m.partitions_pending_revocation);
  }
};

struct ConsumerGroupRegularExpressionKey {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupRegularExpressionKey",
                                        .api_key = 16,
                                        .kind = MessageKind::record_key,
                                        .version_min = 0,
                                        .version_max = 0};

  std::string_view group_id{};
  std::string_view regular_expression{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("regular_expression", m.regular_expression);
  }
};

struct ConsumerGroupRegularExpressionValue {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupRegularExpressionValue",
                                        .api_key = 16,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::vector<std::string_view> topics{};
  std::int64_t version = 0;
  std::int64_t timestamp = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
    v("version", m.version);
    v("timestamp", m.timestamp);
  }
};

}  // namespace tailrace::kafka
