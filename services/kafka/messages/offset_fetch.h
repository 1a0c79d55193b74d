// OffsetFetch (key 9): what was committed. One group until version 7, several from 8 on. Null topics, from version 2
// on, are all that the group has. Offset -1 and empty metadata: nothing was committed. Topics are named by id from
// version 10 on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct OffsetFetchRequest {
  static constexpr MessageInfo kMessage{.name = "OffsetFetchRequest",
                                        .api_key = 9,
                                        .kind = MessageKind::request,
                                        .version_min = 1,
                                        .version_max = 10,
                                        .flexible_from = 6};

  struct OffsetFetchRequestTopic {
    std::string_view name{};
    std::vector<std::int32_t> partition_indexes{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partition_indexes", m.partition_indexes);
    }
  };

  struct OffsetFetchRequestTopics {
    std::string_view name{};
    Uuid topic_id{};
    std::vector<std::int32_t> partition_indexes{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name, until(9));
      v("topic_id", m.topic_id, since(10));
      v("partition_indexes", m.partition_indexes);
    }
  };

  struct OffsetFetchRequestGroup {
    std::string_view group_id{};
    std::optional<std::string_view> member_id{};
    std::int32_t member_epoch = -1;
    std::optional<std::vector<OffsetFetchRequestTopics>> topics{std::in_place};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("group_id", m.group_id);
      v("member_id", m.member_id, since(9));
      v("member_epoch", m.member_epoch, since(9));
      v("topics", m.topics);
    }
  };

  std::string_view group_id{};
  std::optional<std::vector<OffsetFetchRequestTopic>> topics{std::in_place};
  std::vector<OffsetFetchRequestGroup> groups{};
  bool require_stable = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id, until(7));
    v("topics", m.topics, until(7).nullable_since(2));
    v("groups", m.groups, since(8));
    v("require_stable", m.require_stable, since(7));
  }
};

struct OffsetFetchResponse {
  static constexpr MessageInfo kMessage{.name = "OffsetFetchResponse",
                                        .api_key = 9,
                                        .kind = MessageKind::response,
                                        .version_min = 1,
                                        .version_max = 10,
                                        .flexible_from = 6};

  struct OffsetFetchResponsePartition {
    std::int32_t partition_index = 0;
    std::int64_t committed_offset = 0;
    std::int32_t committed_leader_epoch = -1;
    std::optional<std::string_view> metadata{""};
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("committed_offset", m.committed_offset);
      v("committed_leader_epoch", m.committed_leader_epoch, since(5));
      v("metadata", m.metadata);
      v("error_code", m.error_code);
    }
  };

  struct OffsetFetchResponseTopic {
    std::string_view name{};
    std::vector<OffsetFetchResponsePartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  struct OffsetFetchResponsePartitions {
    std::int32_t partition_index = 0;
    std::int64_t committed_offset = 0;
    std::int32_t committed_leader_epoch = -1;
    std::optional<std::string_view> metadata{""};
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("committed_offset", m.committed_offset);
      v("committed_leader_epoch", m.committed_leader_epoch);
      v("metadata", m.metadata);
      v("error_code", m.error_code);
    }
  };

  struct OffsetFetchResponseTopics {
    std::string_view name{};
    Uuid topic_id{};
    std::vector<OffsetFetchResponsePartitions> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name, until(9));
      v("topic_id", m.topic_id, since(10));
      v("partitions", m.partitions);
    }
  };

  struct OffsetFetchResponseGroup {
    std::string_view group_id{};
    std::vector<OffsetFetchResponseTopics> topics{};
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("group_id", m.group_id);
      v("topics", m.topics);
      v("error_code", m.error_code);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<OffsetFetchResponseTopic> topics{};
  std::int16_t error_code = 0;
  std::vector<OffsetFetchResponseGroup> groups{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(3));
    v("topics", m.topics, until(7));
    v("error_code", m.error_code, since(2).until(7));
    v("groups", m.groups, since(8));
  }
};

}  // namespace tailrace::kafka
