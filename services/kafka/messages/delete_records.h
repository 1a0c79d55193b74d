// DeleteRecords (key 21, KIP-107): moves log start offsets up; offset -1 stands for the high watermark. The answer
// tells the new low watermark.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DeleteRecordsRequest {
  static constexpr MessageInfo kMessage{.name = "DeleteRecordsRequest",
                                        .api_key = 21,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 2,
                                        .flexible_from = 2};

  struct DeleteRecordsPartition {
    std::int32_t partition_index = 0;
    std::int64_t offset = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("offset", m.offset);
    }
  };

  struct DeleteRecordsTopic {
    std::string_view name{};
    std::vector<DeleteRecordsPartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::vector<DeleteRecordsTopic> topics{};
  std::int32_t timeout_ms = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
    v("timeout_ms", m.timeout_ms);
  }
};

struct DeleteRecordsResponse {
  static constexpr MessageInfo kMessage{.name = "DeleteRecordsResponse",
                                        .api_key = 21,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 2,
                                        .flexible_from = 2};

  struct DeleteRecordsPartitionResult {
    std::int32_t partition_index = 0;
    std::int64_t low_watermark = 0;
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("low_watermark", m.low_watermark);
      v("error_code", m.error_code);
    }
  };

  struct DeleteRecordsTopicResult {
    std::string_view name{};
    std::vector<DeleteRecordsPartitionResult> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<DeleteRecordsTopicResult> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
