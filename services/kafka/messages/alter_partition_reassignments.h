// AlterPartitionReassignments (key 45, KIP-455): starts moving replicas; null replicas cancel a move under way.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct AlterPartitionReassignmentsRequest {
  static constexpr MessageInfo kMessage{.name = "AlterPartitionReassignmentsRequest",
                                        .api_key = 45,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 0};

  struct ReassignablePartition {
    std::int32_t partition_index = 0;
    std::optional<std::vector<std::int32_t>> replicas{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("replicas", m.replicas);
    }
  };

  struct ReassignableTopic {
    std::string_view name{};
    std::vector<ReassignablePartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::int32_t timeout_ms = 60000;
  bool allow_replication_factor_change = true;
  std::vector<ReassignableTopic> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("timeout_ms", m.timeout_ms);
    v("allow_replication_factor_change", m.allow_replication_factor_change, since(1));
    v("topics", m.topics);
  }
};

struct AlterPartitionReassignmentsResponse {
  static constexpr MessageInfo kMessage{.name = "AlterPartitionReassignmentsResponse",
                                        .api_key = 45,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 0};

  struct ReassignablePartitionResponse {
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
      v("error_message", m.error_message);
    }
  };

  struct ReassignableTopicResponse {
    std::string_view name{};
    std::vector<ReassignablePartitionResponse> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  bool allow_replication_factor_change = true;
  std::int16_t error_code = 0;
  std::optional<std::string_view> error_message{};
  std::vector<ReassignableTopicResponse> responses{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("allow_replication_factor_change", m.allow_replication_factor_change, since(1));
    v("error_code", m.error_code);
    v("error_message", m.error_message);
    v("responses", m.responses);
  }
};

}  // namespace tailrace::kafka
