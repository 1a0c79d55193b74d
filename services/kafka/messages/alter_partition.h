// AlterPartition (key 56): a leader tells the controller its new in-sync replicas. Between nodes only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct AlterPartitionRequest {
  static constexpr MessageInfo kMessage{.name = "AlterPartitionRequest",
                                        .api_key = 56,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 3,
                                        .flexible_from = 0};

  struct BrokerState {
    std::int32_t broker_id = 0;
    std::int64_t broker_epoch = -1;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("broker_id", m.broker_id);
      v("broker_epoch", m.broker_epoch);
    }
  };

  struct PartitionData {
    std::int32_t partition_index = 0;
    std::int32_t leader_epoch = 0;
    std::vector<std::int32_t> new_isr{};
    std::vector<BrokerState> new_isr_with_epochs{};
    std::int8_t leader_recovery_state = 0;
    std::int32_t partition_epoch = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("leader_epoch", m.leader_epoch);
      v("new_isr", m.new_isr, until(2));
      v("new_isr_with_epochs", m.new_isr_with_epochs, since(3));
      v("leader_recovery_state", m.leader_recovery_state, since(1));
      v("partition_epoch", m.partition_epoch);
    }
  };

  struct TopicData {
    std::string_view topic_name{};
    Uuid topic_id{};
    std::vector<PartitionData> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name, until(1));
      v("topic_id", m.topic_id, since(2));
      v("partitions", m.partitions);
    }
  };

  std::int32_t broker_id = 0;
  std::int64_t broker_epoch = -1;
  std::vector<TopicData> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("broker_id", m.broker_id);
    v("broker_epoch", m.broker_epoch);
    v("topics", m.topics);
  }
};

struct AlterPartitionResponse {
  static constexpr MessageInfo kMessage{.name = "AlterPartitionResponse",
                                        .api_key = 56,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 3,
                                        .flexible_from = 0};

  struct PartitionData {
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    std::int32_t leader_id = 0;
    std::int32_t leader_epoch = 0;
    std::vector<std::int32_t> isr{};
    std::int8_t leader_recovery_state = 0;
    std::int32_t partition_epoch = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
      v("leader_id", m.leader_id);
      v("leader_epoch", m.leader_epoch);
      v("isr", m.isr);
      v("leader_recovery_state", m.leader_recovery_state, since(1));
      v("partition_epoch", m.partition_epoch);
    }
  };

  struct TopicData {
    std::string_view topic_name{};
    Uuid topic_id{};
    std::vector<PartitionData> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name, until(1));
      v("topic_id", m.topic_id, since(2));
      v("partitions", m.partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::vector<TopicData> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
