// OffsetDelete (key 47): forgets what a group has committed for partitions of topics that no member reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct OffsetDeleteRequest {
  static constexpr MessageInfo kMessage{
      .name = "OffsetDeleteRequest", .api_key = 47, .kind = MessageKind::request, .version_min = 0, .version_max = 0};

  struct OffsetDeleteRequestPartition {
    std::int32_t partition_index = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
    }
  };

  struct OffsetDeleteRequestTopic {
    std::string_view name{};
    std::vector<OffsetDeleteRequestPartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::string_view group_id{};
  std::vector<OffsetDeleteRequestTopic> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("topics", m.topics);
  }
};

struct OffsetDeleteResponse {
  static constexpr MessageInfo kMessage{
      .name = "OffsetDeleteResponse", .api_key = 47, .kind = MessageKind::response, .version_min = 0, .version_max = 0};

  struct OffsetDeleteResponsePartition {
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
    }
  };

  struct OffsetDeleteResponseTopic {
    std::string_view name{};
    std::vector<OffsetDeleteResponsePartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::int16_t error_code = 0;
  std::int32_t throttle_time_ms = 0;
  std::vector<OffsetDeleteResponseTopic> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("error_code", m.error_code);
    v("throttle_time_ms", m.throttle_time_ms);
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
