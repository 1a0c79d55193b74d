// StopReplica (key 5): the controller tells a broker to stop following partitions, and perhaps to delete them. Between
// nodes only; Kafka 3.x with ZooKeeper.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct StopReplicaRequest {
  static constexpr MessageInfo kMessage{.name = "StopReplicaRequest",
                                        .api_key = 5,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 2};

  struct StopReplicaPartitionV0 {
    std::string_view topic_name{};
    std::int32_t partition_index = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name);
      v("partition_index", m.partition_index);
    }
  };

  struct StopReplicaTopicV1 {
    std::string_view name{};
    std::vector<std::int32_t> partition_indexes{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partition_indexes", m.partition_indexes);
    }
  };

  struct StopReplicaPartitionState {
    std::int32_t partition_index = 0;
    std::int32_t leader_epoch = -1;
    bool delete_partition = false;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("leader_epoch", m.leader_epoch);
      v("delete_partition", m.delete_partition);
    }
  };

  struct StopReplicaTopicState {
    std::string_view topic_name{};
    std::vector<StopReplicaPartitionState> partition_states{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name);
      v("partition_states", m.partition_states);
    }
  };

  std::int32_t controller_id = 0;
  bool is_k_raft_controller = false;
  std::int32_t controller_epoch = 0;
  std::int64_t broker_epoch = -1;
  bool delete_partitions = false;
  std::vector<StopReplicaPartitionV0> ungrouped_partitions{};
  std::vector<StopReplicaTopicV1> topics{};
  std::vector<StopReplicaTopicState> topic_states{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("controller_id", m.controller_id);
    v("is_k_raft_controller", m.is_k_raft_controller, since(4));
    v("controller_epoch", m.controller_epoch);
    v("broker_epoch", m.broker_epoch, since(1));
    v("delete_partitions", m.delete_partitions, until(2));
    v("ungrouped_partitions", m.ungrouped_partitions, until(0));
    v("topics", m.topics, since(1).until(2));
    v("topic_states", m.topic_states, since(3));
  }
};

struct StopReplicaResponse {
  static constexpr MessageInfo kMessage{.name = "StopReplicaResponse",
                                        .api_key = 5,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 2};

  struct StopReplicaPartitionError {
    std::string_view topic_name{};
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name);
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
    }
  };

  std::int16_t error_code = 0;
  std::vector<StopReplicaPartitionError> partition_errors{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("error_code", m.error_code);
    v("partition_errors", m.partition_errors);
  }
};

}  // namespace tailrace::kafka
