// ListOffsets (key 2): the offset for a time. Special times: -1 latest, -2 earliest, -3 the largest timestamp, -4
// earliest local, -5 latest tiered, -6 earliest not yet tiered. Version 0 answers with a list of offsets, in
// old_style_offsets.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ListOffsetsRequest {
  static constexpr MessageInfo kMessage{.name = "ListOffsetsRequest",
                                        .api_key = 2,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 11,
                                        .flexible_from = 6};

  struct ListOffsetsPartition {
    std::int32_t partition_index = 0;
    std::int32_t current_leader_epoch = -1;
    std::int64_t timestamp = 0;
    std::int32_t max_num_offsets = 1;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("current_leader_epoch", m.current_leader_epoch, since(4));
      v("timestamp", m.timestamp);
      v("max_num_offsets", m.max_num_offsets, until(0));
    }
  };

  struct ListOffsetsTopic {
    std::string_view name{};
    std::vector<ListOffsetsPartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::int32_t replica_id = 0;
  std::int8_t isolation_level = 0;
  std::vector<ListOffsetsTopic> topics{};
  std::int32_t timeout_ms = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("replica_id", m.replica_id);
    v("isolation_level", m.isolation_level, since(2));
    v("topics", m.topics);
    v("timeout_ms", m.timeout_ms, since(10));
  }
};

struct ListOffsetsResponse {
  static constexpr MessageInfo kMessage{.name = "ListOffsetsResponse",
                                        .api_key = 2,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 11,
                                        .flexible_from = 6};

  struct ListOffsetsPartitionResponse {
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    std::vector<std::int64_t> old_style_offsets{};
    std::int64_t timestamp = -1;
    std::int64_t offset = -1;
    std::int32_t leader_epoch = -1;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
      v("old_style_offsets", m.old_style_offsets, until(0));
      v("timestamp", m.timestamp, since(1));
      v("offset", m.offset, since(1));
      v("leader_epoch", m.leader_epoch, since(4));
    }
  };

  struct ListOffsetsTopicResponse {
    std::string_view name{};
    std::vector<ListOffsetsPartitionResponse> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<ListOffsetsTopicResponse> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(2));
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
