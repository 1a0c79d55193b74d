// Records of `__consumer_offsets` about share groups (KIP-932), which Kafka 4 may have left in a directory; of keys and
// versions see group_records.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ShareGroupMemberMetadataKey {
  static constexpr MessageInfo kMessage{.name = "ShareGroupMemberMetadataKey",
                                        .api_key = 10,
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

struct ShareGroupMemberMetadataValue {
  static constexpr MessageInfo kMessage{.name = "ShareGroupMemberMetadataValue",
                                        .api_key = 10,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::optional<std::string_view> rack_id{""};
  std::string_view client_id{};
  std::string_view client_host{};
  std::vector<std::string_view> subscribed_topic_names{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("rack_id", m.rack_id);
    v("client_id", m.client_id);
    v("client_host", m.client_host);
    v("subscribed_topic_names", m.subscribed_topic_names);
  }
};

struct ShareGroupMetadataKey {
  static constexpr MessageInfo kMessage{.name = "ShareGroupMetadataKey",
                                        .api_key = 11,
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

struct ShareGroupMetadataValue {
  static constexpr MessageInfo kMessage{.name = "ShareGroupMetadataValue",
                                        .api_key = 11,
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
    v("metadata_hash", m.metadata_hash);
  }
};

struct ShareGroupTargetAssignmentMetadataKey {
  static constexpr MessageInfo kMessage{.name = "ShareGroupTargetAssignmentMetadataKey",
                                        .api_key = 12,
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

struct ShareGroupTargetAssignmentMetadataValue {
  static constexpr MessageInfo kMessage{.name = "ShareGroupTargetAssignmentMetadataValue",
                                        .api_key = 12,
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

struct ShareGroupTargetAssignmentMemberKey {
  static constexpr MessageInfo kMessage{.name = "ShareGroupTargetAssignmentMemberKey",
                                        .api_key = 13,
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

struct ShareGroupTargetAssignmentMemberValue {
  static constexpr MessageInfo kMessage{.name = "ShareGroupTargetAssignmentMemberValue",
                                        .api_key = 13,
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

struct ShareGroupCurrentMemberAssignmentKey {
  static constexpr MessageInfo kMessage{.name = "ShareGroupCurrentMemberAssignmentKey",
                                        .api_key = 14,
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

struct ShareGroupCurrentMemberAssignmentValue {
  static constexpr MessageInfo kMessage{.name = "ShareGroupCurrentMemberAssignmentValue",
                                        .api_key = 14,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TopicPartitions {
    Uuid topic_id{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("partitions", m.partitions);
    }
  };

  std::int32_t member_epoch = 0;
  std::int32_t previous_member_epoch = 0;
  std::int8_t state = 0;
  std::vector<TopicPartitions> assigned_partitions{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("member_epoch", m.member_epoch);
    v("previous_member_epoch", m.previous_member_epoch);
    v("state", m.state);
    v("assigned_partitions", m.assigned_partitions);
  }
};

struct ShareGroupStatePartitionMetadataKey {
  static constexpr MessageInfo kMessage{.name = "ShareGroupStatePartitionMetadataKey",
                                        .api_key = 15,
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

struct ShareGroupStatePartitionMetadataValue {
  static constexpr MessageInfo kMessage{.name = "ShareGroupStatePartitionMetadataValue",
                                        .api_key = 15,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TopicPartitionsInfo {
    Uuid topic_id{};
    std::string_view topic_name{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("topic_name", m.topic_name);
      v("partitions", m.partitions);
    }
  };

  struct TopicInfo {
    Uuid topic_id{};
    std::string_view topic_name{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("topic_name", m.topic_name);
    }
  };

  std::vector<TopicPartitionsInfo> initializing_topics{};
  std::vector<TopicPartitionsInfo> initialized_topics{};
  std::vector<TopicInfo> deleting_topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("initializing_topics", m.initializing_topics);
    v("initialized_topics", m.initialized_topics);
    v("deleting_topics", m.deleting_topics);
  }
};

}  // namespace tailrace::kafka
