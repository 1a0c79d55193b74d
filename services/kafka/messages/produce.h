// Produce (key 0): record batches for partitions, and the offsets they were given. Topics are named by name up to
// version 12 and by id from 13 on. acks: 0 there is no response at all, 1 when the leader has written, -1 when all
// in-sync replicas have. Versions 0 to 2 carry the message sets of old formats; they are decoded, not served.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ProduceRequest {
  static constexpr MessageInfo kMessage{.name = "ProduceRequest",
                                        .api_key = 0,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 13,
                                        .flexible_from = 9};

  struct PartitionProduceData {
    std::int32_t index = 0;
    std::optional<Bytes> records{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("index", m.index);
      v.records("records", m.records);
    }
  };

  struct TopicProduceData {
    std::string_view name{};
    Uuid topic_id{};
    std::vector<PartitionProduceData> partition_data{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name, until(12));
      v("topic_id", m.topic_id, since(13));
      v("partition_data", m.partition_data);
    }
  };

  std::optional<std::string_view> transactional_id{};
  std::int16_t acks = 0;
  std::int32_t timeout_ms = 0;
  std::vector<TopicProduceData> topic_data{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("transactional_id", m.transactional_id, since(3));
    v("acks", m.acks);
    v("timeout_ms", m.timeout_ms);
    v("topic_data", m.topic_data);
  }
};

struct ProduceResponse {
  static constexpr MessageInfo kMessage{.name = "ProduceResponse",
                                        .api_key = 0,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 13,
                                        .flexible_from = 9};

  struct BatchIndexAndErrorMessage {
    std::int32_t batch_index = 0;
    std::optional<std::string_view> batch_index_error_message{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("batch_index", m.batch_index);
      v("batch_index_error_message", m.batch_index_error_message);
    }
  };

  struct LeaderIdAndEpoch {
    std::int32_t leader_id = -1;
    std::int32_t leader_epoch = -1;
    UnknownTaggedFields unknown_tagged_fields{};
    friend bool operator==(const LeaderIdAndEpoch&, const LeaderIdAndEpoch&) = default;

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("leader_id", m.leader_id);
      v("leader_epoch", m.leader_epoch);
    }
  };

  struct PartitionProduceResponse {
    std::int32_t index = 0;
    std::int16_t error_code = 0;
    std::int64_t base_offset = 0;
    std::int64_t log_append_time_ms = -1;
    std::int64_t log_start_offset = -1;
    std::vector<BatchIndexAndErrorMessage> record_errors{};
    std::optional<std::string_view> error_message{};
    LeaderIdAndEpoch current_leader{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("index", m.index);
      v("error_code", m.error_code);
      v("base_offset", m.base_offset);
      v("log_append_time_ms", m.log_append_time_ms, since(2));
      v("log_start_offset", m.log_start_offset, since(5));
      v("record_errors", m.record_errors, since(8));
      v("error_message", m.error_message, since(8));
      v.tagged(0, "current_leader", m.current_leader, since(10));
    }
  };

  struct TopicProduceResponse {
    std::string_view name{};
    Uuid topic_id{};
    std::vector<PartitionProduceResponse> partition_responses{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name, until(12));
      v("topic_id", m.topic_id, since(13));
      v("partition_responses", m.partition_responses);
    }
  };

  struct NodeEndpoint {
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
      v("rack", m.rack);
    }
  };

  std::vector<TopicProduceResponse> responses{};
  std::int32_t throttle_time_ms = 0;
  std::vector<NodeEndpoint> node_endpoints{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("responses", m.responses);
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v.tagged(0, "node_endpoints", m.node_endpoints, since(10));
  }
};

}  // namespace tailrace::kafka
