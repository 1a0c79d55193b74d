// ListPartitionReassignments (key 46, KIP-455): partitions whose replicas are being moved. Null topics ask for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ListPartitionReassignmentsRequest {
  static constexpr MessageInfo kMessage{.name = "ListPartitionReassignmentsRequest",
                                        .api_key = 46,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct ListPartitionReassignmentsTopics {
    std::string_view name{};
    std::vector<std::int32_t> partition_indexes{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partition_indexes", m.partition_indexes);
    }
  };

  std::int32_t timeout_ms = 60000;
  std::optional<std::vector<ListPartitionReassignmentsTopics>> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("timeout_ms", m.timeout_ms);
    v("topics", m.topics);
  }
};

struct ListPartitionReassignmentsResponse {
  static constexpr MessageInfo kMessage{.name = "ListPartitionReassignmentsResponse",
                                        .api_key = 46,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct OngoingPartitionReassignment {
    std::int32_t partition_index = 0;
    std::vector<std::int32_t> replicas{};
    std::vector<std::int32_t> adding_replicas{};
    std::vector<std::int32_t> removing_replicas{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("replicas", m.replicas);
      v("adding_replicas", m.adding_replicas);
      v("removing_replicas", m.removing_replicas);
    }
  };

  struct OngoingTopicReassignment {
    std::string_view name{};
    std::vector<OngoingPartitionReassignment> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::optional<std::string_view> error_message{};
  std::vector<OngoingTopicReassignment> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("error_message", m.error_message);
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
