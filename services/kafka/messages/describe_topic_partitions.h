// DescribeTopicPartitions (key 75, KIP-966): topics and their partitions in the order of names, a page at a time. A
// cursor names the first partition of the page; none in the answer: this was the last page.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DescribeTopicPartitionsRequest {
  static constexpr MessageInfo kMessage{.name = "DescribeTopicPartitionsRequest",
                                        .api_key = 75,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TopicRequest {
    std::string_view name{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
    }
  };

  struct Cursor {
    std::string_view topic_name{};
    std::int32_t partition_index = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name);
      v("partition_index", m.partition_index);
    }
  };

  std::vector<TopicRequest> topics{};
  std::int32_t response_partition_limit = 2000;
  std::optional<Cursor> cursor{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
    v("response_partition_limit", m.response_partition_limit);
    v("cursor", m.cursor);
  }
};

struct DescribeTopicPartitionsResponse {
  static constexpr MessageInfo kMessage{.name = "DescribeTopicPartitionsResponse",
                                        .api_key = 75,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct DescribeTopicPartitionsResponsePartition {
    std::int16_t error_code = 0;
    std::int32_t partition_index = 0;
    std::int32_t leader_id = 0;
    std::int32_t leader_epoch = -1;
    std::vector<std::int32_t> replica_nodes{};
    std::vector<std::int32_t> isr_nodes{};
    std::optional<std::vector<std::int32_t>> eligible_leader_replicas{};
    std::optional<std::vector<std::int32_t>> last_known_elr{};
    std::vector<std::int32_t> offline_replicas{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("partition_index", m.partition_index);
      v("leader_id", m.leader_id);
      v("leader_epoch", m.leader_epoch);
      v("replica_nodes", m.replica_nodes);
      v("isr_nodes", m.isr_nodes);
      v("eligible_leader_replicas", m.eligible_leader_replicas);
      v("last_known_elr", m.last_known_elr);
      v("offline_replicas", m.offline_replicas);
    }
  };

  struct DescribeTopicPartitionsResponseTopic {
    std::int16_t error_code = 0;
    std::optional<std::string_view> name{};
    Uuid topic_id{};
    bool is_internal = false;
    std::vector<DescribeTopicPartitionsResponsePartition> partitions{};
    std::int32_t topic_authorized_operations = kInt32Min;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("name", m.name);
      v("topic_id", m.topic_id);
      v("is_internal", m.is_internal);
      v("partitions", m.partitions);
      v("topic_authorized_operations", m.topic_authorized_operations);
    }
  };

  struct Cursor {
    std::string_view topic_name{};
    std::int32_t partition_index = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name);
      v("partition_index", m.partition_index);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<DescribeTopicPartitionsResponseTopic> topics{};
  std::optional<Cursor> next_cursor{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("topics", m.topics);
    v("next_cursor", m.next_cursor);
  }
};

}  // namespace tailrace::kafka
