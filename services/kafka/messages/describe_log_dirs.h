// DescribeLogDirs (key 35, KIP-113): the data directories of a broker and the sizes in bytes of the logs in them. Null
// topics ask for all. total_bytes and usable_bytes are the file system's (KIP-827).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DescribeLogDirsRequest {
  static constexpr MessageInfo kMessage{.name = "DescribeLogDirsRequest",
                                        .api_key = 35,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 2};

  struct DescribableLogDirTopic {
    std::string_view topic{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic);
      v("partitions", m.partitions);
    }
  };

  std::optional<std::vector<DescribableLogDirTopic>> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
  }
};

struct DescribeLogDirsResponse {
  static constexpr MessageInfo kMessage{.name = "DescribeLogDirsResponse",
                                        .api_key = 35,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 2};

  struct DescribeLogDirsPartition {
    std::int32_t partition_index = 0;
    std::int64_t partition_size = 0;
    std::int64_t offset_lag = 0;
    bool is_future_key = false;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("partition_size", m.partition_size);
      v("offset_lag", m.offset_lag);
      v("is_future_key", m.is_future_key);
    }
  };

  struct DescribeLogDirsTopic {
    std::string_view name{};
    std::vector<DescribeLogDirsPartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  struct DescribeLogDirsResult {
    std::int16_t error_code = 0;
    std::string_view log_dir{};
    std::vector<DescribeLogDirsTopic> topics{};
    std::int64_t total_bytes = -1;
    std::int64_t usable_bytes = -1;
    bool is_cordoned = false;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("log_dir", m.log_dir);
      v("topics", m.topics);
      v("total_bytes", m.total_bytes, since(4));
      v("usable_bytes", m.usable_bytes, since(4));
      v("is_cordoned", m.is_cordoned, since(5));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::vector<DescribeLogDirsResult> results{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code, since(3));
    v("results", m.results);
  }
};

}  // namespace tailrace::kafka
