// LeaderAndIsr (key 4): the controller tells a broker which partitions to lead and to follow. Between nodes only; Kafka
// 3.x with ZooKeeper. `type` is 0 unknown, 1 incremental, 2 full.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct LeaderAndIsrRequest {
  static constexpr MessageInfo kMessage{.name = "LeaderAndIsrRequest",
                                        .api_key = 4,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 7,
                                        .flexible_from = 4};

  struct LeaderAndIsrPartitionState {
    std::string_view topic_name{};
    std::int32_t partition_index = 0;
    std::int32_t controller_epoch = 0;
    std::int32_t leader = 0;
    std::int32_t leader_epoch = 0;
    std::vector<std::int32_t> isr{};
    std::int32_t partition_epoch = 0;
    std::vector<std::int32_t> replicas{};
    std::vector<std::int32_t> adding_replicas{};
    std::vector<std::int32_t> removing_replicas{};
    bool is_new = false;
    std::int8_t leader_recovery_state = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name, until(1));
      v("partition_index", m.partition_index);
      v("controller_epoch", m.controller_epoch);
      v("leader", m.leader);
      v("leader_epoch", m.leader_epoch);
      v("isr", m.isr);
      v("partition_epoch", m.partition_epoch);
      v("replicas", m.replicas);
      v("adding_replicas", m.adding_replicas, since(3));
      v("removing_replicas", m.removing_replicas, since(3));
      v("is_new", m.is_new, since(1));
      v("leader_recovery_state", m.leader_recovery_state, since(6));
    }
  };

  struct LeaderAndIsrTopicState {
    std::string_view topic_name{};
    Uuid topic_id{};
    std::vector<LeaderAndIsrPartitionState> partition_states{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name);
      v("topic_id", m.topic_id, since(5));
      v("partition_states", m.partition_states);
    }
  };

  struct LeaderAndIsrLiveLeader {
    std::int32_t broker_id = 0;
    std::string_view host_name{};
    std::int32_t port = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("broker_id", m.broker_id);
      v("host_name", m.host_name);
      v("port", m.port);
    }
  };

  std::int32_t controller_id = 0;
  bool is_k_raft_controller = false;
  std::int32_t controller_epoch = 0;
  std::int64_t broker_epoch = -1;
  std::int8_t type = 0;
  std::vector<LeaderAndIsrPartitionState> ungrouped_partition_states{};
  std::vector<LeaderAndIsrTopicState> topic_states{};
  std::vector<LeaderAndIsrLiveLeader> live_leaders{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("controller_id", m.controller_id);
    v("is_k_raft_controller", m.is_k_raft_controller, since(7));
    v("controller_epoch", m.controller_epoch);
    v("broker_epoch", m.broker_epoch, since(2));
    v("type", m.type, since(5));
    v("ungrouped_partition_states", m.ungrouped_partition_states, until(1));
    v("topic_states", m.topic_states, since(2));
    v("live_leaders", m.live_leaders);
  }
};

struct LeaderAndIsrResponse {
  static constexpr MessageInfo kMessage{.name = "LeaderAndIsrResponse",
                                        .api_key = 4,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 7,
                                        .flexible_from = 4};

  struct LeaderAndIsrPartitionError {
    std::string_view topic_name{};
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name, until(4));
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
    }
  };

  struct LeaderAndIsrTopicError {
    Uuid topic_id{};
    std::vector<LeaderAndIsrPartitionError> partition_errors{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("partition_errors", m.partition_errors);
    }
  };

  std::int16_t error_code = 0;
  std::vector<LeaderAndIsrPartitionError> partition_errors{};
  std::vector<LeaderAndIsrTopicError> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("error_code", m.error_code);
    v("partition_errors", m.partition_errors, until(4));
    v("topics", m.topics, since(5));
  }
};

}  // namespace tailrace::kafka
