// Records of `__consumer_offsets` about streams groups (KIP-1071), which Kafka 4 may have left in a directory; of keys
// and versions see group_records.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct StreamsGroupMetadataKey {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupMetadataKey",
                                        .api_key = 17,
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

struct StreamsGroupMetadataValue {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupMetadataValue",
                                        .api_key = 17,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct LastAssignmentConfig {
    std::string_view key{};
    std::string_view value{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("key", m.key);
      v("value", m.value);
    }
  };

  std::int32_t epoch = 0;
  std::int64_t metadata_hash = 0;
  std::int32_t validated_topology_epoch = -1;
  std::optional<std::vector<LastAssignmentConfig>> last_assignment_configs{std::in_place};
  std::int32_t stored_description_topology_epoch = -1;
  std::int32_t failed_description_topology_epoch = -1;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("epoch", m.epoch);
    v("metadata_hash", m.metadata_hash);
    v.tagged(0, "validated_topology_epoch", m.validated_topology_epoch, {}, -1);
    v.tagged(1, "last_assignment_configs", m.last_assignment_configs, {},
             std::optional<std::vector<LastAssignmentConfig>>{std::in_place});
    v.tagged(2, "stored_description_topology_epoch", m.stored_description_topology_epoch, {}, -1);
    v.tagged(3, "failed_description_topology_epoch", m.failed_description_topology_epoch, {}, -1);
  }
};

struct StreamsGroupMemberMetadataKey {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupMemberMetadataKey",
                                        .api_key = 19,
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

struct StreamsGroupMemberMetadataValue {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupMemberMetadataValue",
                                        .api_key = 19,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct Endpoint {
    std::string_view host{};
    std::uint16_t port = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("host", m.host);
      v("port", m.port);
    }
  };

  struct KeyValue {
    std::string_view key{};
    std::string_view value{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("key", m.key);
      v("value", m.value);
    }
  };

  std::optional<std::string_view> instance_id{""};
  std::optional<std::string_view> rack_id{""};
  std::string_view client_id{};
  std::string_view client_host{};
  std::int32_t rebalance_timeout_ms = -1;
  std::int32_t topology_epoch = 0;
  std::string_view process_id{};
  std::optional<Endpoint> user_endpoint{};
  std::vector<KeyValue> client_tags{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("instance_id", m.instance_id);
    v("rack_id", m.rack_id);
    v("client_id", m.client_id);
    v("client_host", m.client_host);
    v("rebalance_timeout_ms", m.rebalance_timeout_ms);
    v("topology_epoch", m.topology_epoch);
    v("process_id", m.process_id);
    v("user_endpoint", m.user_endpoint);
    v("client_tags", m.client_tags);
  }
};

struct StreamsGroupTargetAssignmentMetadataKey {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupTargetAssignmentMetadataKey",
                                        .api_key = 20,
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

struct StreamsGroupTargetAssignmentMetadataValue {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupTargetAssignmentMetadataValue",
                                        .api_key = 20,
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

struct StreamsGroupTargetAssignmentMemberKey {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupTargetAssignmentMemberKey",
                                        .api_key = 21,
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

struct StreamsGroupTargetAssignmentMemberValue {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupTargetAssignmentMemberValue",
                                        .api_key = 21,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TaskIds {
    std::string_view subtopology_id{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("subtopology_id", m.subtopology_id);
      v("partitions", m.partitions);
    }
  };

  std::vector<TaskIds> active_tasks{};
  std::vector<TaskIds> standby_tasks{};
  std::vector<TaskIds> warmup_tasks{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("active_tasks", m.active_tasks);
    v("standby_tasks", m.standby_tasks);
    v("warmup_tasks", m.warmup_tasks);
  }
};

struct StreamsGroupCurrentMemberAssignmentKey {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupCurrentMemberAssignmentKey",
                                        .api_key = 22,
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

struct StreamsGroupCurrentMemberAssignmentValue {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupCurrentMemberAssignmentValue",
                                        .api_key = 22,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TaskIds {
    std::string_view subtopology_id{};
    std::vector<std::int32_t> partitions{};
    std::optional<std::vector<std::int32_t>> assignment_epochs{std::in_place};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("subtopology_id", m.subtopology_id);
      v("partitions", m.partitions);
      v.tagged(0, "assignment_epochs", m.assignment_epochs, {},
               std::optional<std::vector<std::int32_t>>{std::in_place});
    }
  };

  std::int32_t member_epoch = 0;
  std::int32_t previous_member_epoch = 0;
  std::int8_t state = 0;
  std::vector<TaskIds> active_tasks{};
  std::vector<TaskIds> standby_tasks{};
  std::vector<TaskIds> warmup_tasks{};
  std::vector<TaskIds> active_tasks_pending_revocation{};
  std::vector<TaskIds> standby_tasks_pending_revocation{};
  std::vector<TaskIds> warmup_tasks_pending_revocation{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("member_epoch", m.member_epoch);
    v("previous_member_epoch", m.previous_member_epoch);
    v("state", m.state);
    v("active_tasks", m.active_tasks);
    v("standby_tasks", m.standby_tasks);
    v("warmup_tasks", m.warmup_tasks);
    v("active_tasks_pending_revocation", m.active_tasks_pending_revocation);
    v("standby_tasks_pending_revocation", m.standby_tasks_pending_revocation);
    v("warmup_tasks_pending_revocation", m.warmup_tasks_pending_revocation);
  }
};

struct StreamsGroupTopologyKey {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupTopologyKey",
                                        .api_key = 23,
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

struct StreamsGroupTopologyValue {
  static constexpr MessageInfo kMessage{.name = "StreamsGroupTopologyValue",
                                        .api_key = 23,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TopicConfig {
    std::string_view key{};
    std::string_view value{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("key", m.key);
      v("value", m.value);
    }
  };

  struct TopicInfo {
    std::string_view name{};
    std::int32_t partitions = 0;
    std::int16_t replication_factor = 0;
    std::vector<TopicConfig> topic_configs{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
      v("replication_factor", m.replication_factor);
      v("topic_configs", m.topic_configs);
    }
  };

  struct CopartitionGroup {
    std::vector<std::int16_t> source_topics{};
    std::vector<std::int16_t> source_topic_regex{};
    std::vector<std::int16_t> repartition_source_topics{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("source_topics", m.source_topics);
      v("source_topic_regex", m.source_topic_regex);
      v("repartition_source_topics", m.repartition_source_topics);
    }
  };

  struct Subtopology {
    std::string_view subtopology_id{};
    std::vector<std::string_view> source_topics{};
    std::vector<std::string_view> source_topic_regex{};
    std::vector<TopicInfo> state_changelog_topics{};
    std::vector<std::string_view> repartition_sink_topics{};
    std::vector<TopicInfo> repartition_source_topics{};
    std::vector<CopartitionGroup> copartition_groups{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("subtopology_id", m.subtopology_id);
      v("source_topics", m.source_topics);
      v("source_topic_regex", m.source_topic_regex);
      v("state_changelog_topics", m.state_changelog_topics);
      v("repartition_sink_topics", m.repartition_sink_topics);
      v("repartition_source_topics", m.repartition_source_topics);
      v("copartition_groups", m.copartition_groups);
    }
  };

  std::int32_t epoch = 0;
  std::vector<Subtopology> subtopologies{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("epoch", m.epoch);
    v("subtopologies", m.subtopologies);
  }
};

}  // namespace tailrace::kafka
