// DescribeProducers (key 61, KIP-664): what a partition knows of the producers that wrote to it lately; a
// current_txn_start_offset of -1: no transaction is open.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DescribeProducersRequest {
  static constexpr MessageInfo kMessage{.name = "DescribeProducersRequest",
                                        .api_key = 61,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct TopicRequest {
    std::string_view name{};
    std::vector<std::int32_t> partition_indexes{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partition_indexes", m.partition_indexes);
    }
  };

  std::vector<TopicRequest> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
  }
};

struct DescribeProducersResponse {
  static constexpr MessageInfo kMessage{.name = "DescribeProducersResponse",
                                        .api_key = 61,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct ProducerState {
    std::int64_t producer_id = 0;
    std::int32_t producer_epoch = 0;
    std::int32_t last_sequence = -1;
    std::int64_t last_timestamp = -1;
    std::int32_t coordinator_epoch = 0;
    std::int64_t current_txn_start_offset = -1;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("producer_id", m.producer_id);
      v("producer_epoch", m.producer_epoch);
      v("last_sequence", m.last_sequence);
      v("last_timestamp", m.last_timestamp);
      v("coordinator_epoch", m.coordinator_epoch);
      v("current_txn_start_offset", m.current_txn_start_offset);
    }
  };

  struct PartitionResponse {
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    std::vector<ProducerState> active_producers{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
      v("error_message", m.error_message);
      v("active_producers", m.active_producers);
    }
  };

  struct TopicResponse {
    std::string_view name{};
    std::vector<PartitionResponse> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<TopicResponse> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
