// CreatePartitions (key 37): raises the number of partitions of topics. `count` is the new total; null assignments
// leave the placement to the controller.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct CreatePartitionsRequest {
  static constexpr MessageInfo kMessage{.name = "CreatePartitionsRequest",
                                        .api_key = 37,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 3,
                                        .flexible_from = 2};

  struct CreatePartitionsAssignment {
    std::vector<std::int32_t> broker_ids{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("broker_ids", m.broker_ids);
    }
  };

  struct CreatePartitionsTopic {
    std::string_view name{};
    std::int32_t count = 0;
    std::optional<std::vector<CreatePartitionsAssignment>> assignments{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("count", m.count);
      v("assignments", m.assignments);
    }
  };

  std::vector<CreatePartitionsTopic> topics{};
  std::int32_t timeout_ms = 0;
  bool validate_only = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
    v("timeout_ms", m.timeout_ms);
    v("validate_only", m.validate_only);
  }
};

struct CreatePartitionsResponse {
  static constexpr MessageInfo kMessage{.name = "CreatePartitionsResponse",
                                        .api_key = 37,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 3,
                                        .flexible_from = 2};

  struct CreatePartitionsTopicResult {
    std::string_view name{};
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("error_code", m.error_code);
      v("error_message", m.error_message);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<CreatePartitionsTopicResult> results{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("results", m.results);
  }
};

}  // namespace tailrace::kafka
