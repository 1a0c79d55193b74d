// UpdateMetadata (key 6): the controller tells all brokers about brokers and partitions. A leader of -2 says that the
// partition is being deleted, -1 that it has none. security_protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
// Between nodes only; Kafka 3.x with ZooKeeper.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct UpdateMetadataRequest {
  static constexpr MessageInfo kMessage{.name = "UpdateMetadataRequest",
                                        .api_key = 6,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 8,
                                        .flexible_from = 6};

  struct UpdateMetadataPartitionState {
    std::string_view topic_name{};
    std::int32_t partition_index = 0;
    std::int32_t controller_epoch = 0;
    std::int32_t leader = 0;
    std::int32_t leader_epoch = 0;
    std::vector<std::int32_t> isr{};
    std::int32_t zk_version = 0;
    std::vector<std::int32_t> replicas{};
    std::vector<std::int32_t> offline_replicas{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name, until(4));
      v("partition_index", m.partition_index);
      v("controller_epoch", m.controller_epoch);
      v("leader", m.leader);
      v("leader_epoch", m.leader_epoch);
      v("isr", m.isr);
      v("zk_version", m.zk_version);
      v("replicas", m.replicas);
      v("offline_replicas", m.offline_replicas, since(4));
    }
  };

  struct UpdateMetadataTopicState {
    std::string_view topic_name{};
    Uuid topic_id{};
    std::vector<UpdateMetadataPartitionState> partition_states{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name);
      v("topic_id", m.topic_id, since(7));
      v("partition_states", m.partition_states);
    }
  };

  struct UpdateMetadataEndpoint {
    std::int32_t port = 0;
    std::string_view host{};
    std::string_view listener{};
    std::int16_t security_protocol = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("port", m.port);
      v("host", m.host);
      v("listener", m.listener, since(3));
      v("security_protocol", m.security_protocol);
    }
  };

  struct UpdateMetadataBroker {
    std::int32_t id = 0;
    std::string_view v0_host{};
    std::int32_t v0_port = 0;
    std::vector<UpdateMetadataEndpoint> endpoints{};
    std::optional<std::string_view> rack{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("id", m.id);
      v("v0_host", m.v0_host, until(0));
      v("v0_port", m.v0_port, until(0));
      v("endpoints", m.endpoints, since(1));
      v("rack", m.rack, since(2));
    }
  };

  std::int32_t controller_id = 0;
  bool is_k_raft_controller = false;
  std::int8_t type = 0;
  std::int32_t controller_epoch = 0;
  std::int64_t broker_epoch = -1;
  std::vector<UpdateMetadataPartitionState> ungrouped_partition_states{};
  std::vector<UpdateMetadataTopicState> topic_states{};
  std::vector<UpdateMetadataBroker> live_brokers{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("controller_id", m.controller_id);
    v("is_k_raft_controller", m.is_k_raft_controller, since(8));
    v.tagged(0, "type", m.type, since(8));
    v("controller_epoch", m.controller_epoch);
    v("broker_epoch", m.broker_epoch, since(5));
    v("ungrouped_partition_states", m.ungrouped_partition_states, until(4));
    v("topic_states", m.topic_states, since(5));
    v("live_brokers", m.live_brokers);
  }
};

struct UpdateMetadataResponse {
  static constexpr MessageInfo kMessage{.name = "UpdateMetadataResponse",
                                        .api_key = 6,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 8,
                                        .flexible_from = 6};

  std::int16_t error_code = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("error_code", m.error_code);
  }
};

}  // namespace tailrace::kafka
