// OffsetCommit (key 8). Generation -1 with an empty member id: a commit from outside of the group's membership. In a
// group of the consumer protocol the generation is the member epoch. Topics are named by id from version 10 on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct OffsetCommitRequest {
  static constexpr MessageInfo kMessage{.name = "OffsetCommitRequest",
                                        .api_key = 8,
                                        .kind = MessageKind::request,
                                        .version_min = 2,
                                        .version_max = 10,
                                        .flexible_from = 8};

  struct OffsetCommitRequestPartition {
    std::int32_t partition_index = 0;
    std::int64_t committed_offset = 0;
    std::int32_t committed_leader_epoch = -1;
    std::optional<std::string_view> committed_metadata{""};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("committed_offset", m.committed_offset);
      v("committed_leader_epoch", m.committed_leader_epoch, since(6));
      v("committed_metadata", m.committed_metadata);
    }
  };

  struct OffsetCommitRequestTopic {
    std::string_view name{};
    Uuid topic_id{};
    std::vector<OffsetCommitRequestPartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name, until(9));
      v("topic_id", m.topic_id, since(10));
      v("partitions", m.partitions);
    }
  };

  std::string_view group_id{};
  std::int32_t generation_id_or_member_epoch = -1;
  std::string_view member_id{};
  std::int64_t retention_time_ms = -1;
  std::optional<std::string_view> group_instance_id{};
  std::vector<OffsetCommitRequestTopic> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("generation_id_or_member_epoch", m.generation_id_or_member_epoch);
    v("member_id", m.member_id);
    v("retention_time_ms", m.retention_time_ms, until(4));
    v("group_instance_id", m.group_instance_id, since(7));
    v("topics", m.topics);
  }
};

struct OffsetCommitResponse {
  static constexpr MessageInfo kMessage{.name = "OffsetCommitResponse",
                                        .api_key = 8,
                                        .kind = MessageKind::response,
                                        .version_min = 2,
                                        .version_max = 10,
                                        .flexible_from = 8};

  struct OffsetCommitResponsePartition {
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
    }
  };

  struct OffsetCommitResponseTopic {
    std::string_view name{};
    Uuid topic_id{};
    std::vector<OffsetCommitResponsePartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name, until(9));
      v("topic_id", m.topic_id, since(10));
      v("partitions", m.partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<OffsetCommitResponseTopic> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(3));
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
