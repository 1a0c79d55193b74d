// Metadata (key 3): brokers, topics and their partitions. A request for null topics asks for all of them; in version 0,
// which cannot say null, an empty array does. Authorized operations are a set of bits, INT32_MIN when not asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct MetadataRequest {
  static constexpr MessageInfo kMessage{.name = "MetadataRequest",
                                        .api_key = 3,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 13,
                                        .flexible_from = 9};

  struct MetadataRequestTopic {
    Uuid topic_id{};
    std::optional<std::string_view> name{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id, since(10));
      v("name", m.name, nullable_since(10));
    }
  };

  std::optional<std::vector<MetadataRequestTopic>> topics{};
  bool allow_auto_topic_creation = true;
  bool include_cluster_authorized_operations = false;
  bool include_topic_authorized_operations = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics, nullable_since(1));
    v("allow_auto_topic_creation", m.allow_auto_topic_creation, since(4));
    v("include_cluster_authorized_operations", m.include_cluster_authorized_operations, since(8).until(10));
    v("include_topic_authorized_operations", m.include_topic_authorized_operations, since(8));
  }
};

struct MetadataResponse {
  static constexpr MessageInfo kMessage{.name = "MetadataResponse",
                                        .api_key = 3,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 13,
                                        .flexible_from = 9};

  struct MetadataResponseBroker {
    std::int32_t node_id = 0;
    std::string_view host{};
    std::int32_t port = 0;
    std::optional<std::string_view> rack{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("node_id", m.node_id);
      v("host", m.host);
      v("port", m.port);
      v("rack", m.rack, since(1));
    }
  };

  struct MetadataResponsePartition {
    std::int16_t error_code = 0;
    std::int32_t partition_index = 0;
    std::int32_t leader_id = 0;
    std::int32_t leader_epoch = -1;
    std::vector<std::int32_t> replica_nodes{};
    std::vector<std::int32_t> isr_nodes{};
    std::vector<std::int32_t> offline_replicas{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("partition_index", m.partition_index);
      v("leader_id", m.leader_id);
      v("leader_epoch", m.leader_epoch, since(7));
      v("replica_nodes", m.replica_nodes);
      v("isr_nodes", m.isr_nodes);
      v("offline_replicas", m.offline_replicas, since(5));
    }
  };

  struct MetadataResponseTopic {
    std::int16_t error_code = 0;
    std::optional<std::string_view> name{};
    Uuid topic_id{};
    bool is_internal = false;
    std::vector<MetadataResponsePartition> partitions{};
    std::int32_t topic_authorized_operations = kInt32Min;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("name", m.name, nullable_since(12));
      v("topic_id", m.topic_id, since(10));
      v("is_internal", m.is_internal, since(1));
      v("partitions", m.partitions);
      v("topic_authorized_operations", m.topic_authorized_operations, since(8));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<MetadataResponseBroker> brokers{};
  std::optional<std::string_view> cluster_id{};
  std::int32_t controller_id = -1;
  std::vector<MetadataResponseTopic> topics{};
  std::int32_t cluster_authorized_operations = kInt32Min;
  std::int16_t error_code = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(3));
    v("brokers", m.brokers);
    v("cluster_id", m.cluster_id, since(2));
    v("controller_id", m.controller_id, since(1));
    v("topics", m.topics);
    v("cluster_authorized_operations", m.cluster_authorized_operations, since(8).until(10));
    v("error_code", m.error_code, since(13));
  }
};

}  // namespace tailrace::kafka
