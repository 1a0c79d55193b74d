// ElectLeaders (key 43, KIP-183 and KIP-460). election_type: 0 the preferred replica, 1 an unclean one. Null
// topic_partitions stand for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ElectLeadersRequest {
  static constexpr MessageInfo kMessage{.name = "ElectLeadersRequest",
                                        .api_key = 43,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 2,
                                        .flexible_from = 2};

  struct TopicPartitions {
    std::string_view topic{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic);
      v("partitions", m.partitions);
    }
  };

  std::int8_t election_type = 0;
  std::optional<std::vector<TopicPartitions>> topic_partitions{};
  std::int32_t timeout_ms = 60000;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("election_type", m.election_type, since(1));
    v("topic_partitions", m.topic_partitions);
    v("timeout_ms", m.timeout_ms);
  }
};

struct ElectLeadersResponse {
  static constexpr MessageInfo kMessage{.name = "ElectLeadersResponse",
                                        .api_key = 43,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 2,
                                        .flexible_from = 2};

  struct PartitionResult {
    std::int32_t partition_id = 0;
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_id", m.partition_id);
      v("error_code", m.error_code);
      v("error_message", m.error_message);
    }
  };

  struct ReplicaElectionResult {
    std::string_view topic{};
    std::vector<PartitionResult> partition_result{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic);
      v("partition_result", m.partition_result);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::vector<ReplicaElectionResult> replica_election_results{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code, since(1));
    v("replica_election_results", m.replica_election_results);
  }
};

}  // namespace tailrace::kafka
