// CreateTopics (key 19). num_partitions and replication_factor -1 stand for the broker's defaults, and are required
// with manual assignments. Null configs in a response: the client may not see them; config_source as in
// DescribeConfigs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct CreateTopicsRequest {
  static constexpr MessageInfo kMessage{.name = "CreateTopicsRequest",
                                        .api_key = 19,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 7,
                                        .flexible_from = 5};

  struct CreatableReplicaAssignment {
    std::int32_t partition_index = 0;
    std::vector<std::int32_t> broker_ids{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("broker_ids", m.broker_ids);
    }
  };

  struct CreatableTopicConfig {
    std::string_view name{};
    std::optional<std::string_view> value{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("value", m.value);
    }
  };

  struct CreatableTopic {
    std::string_view name{};
    std::int32_t num_partitions = 0;
    std::int16_t replication_factor = 0;
    std::vector<CreatableReplicaAssignment> assignments{};
    std::vector<CreatableTopicConfig> configs{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("num_partitions", m.num_partitions);
      v("replication_factor", m.replication_factor);
      v("assignments", m.assignments);
      v("configs", m.configs);
    }
  };

  std::vector<CreatableTopic> topics{};
  std::int32_t timeout_ms = 60000;
  bool validate_only = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
    v("timeout_ms", m.timeout_ms);
    v("validate_only", m.validate_only, since(1));
  }
};

struct CreateTopicsResponse {
  static constexpr MessageInfo kMessage{.name = "CreateTopicsResponse",
                                        .api_key = 19,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 7,
                                        .flexible_from = 5};

  struct CreatableTopicConfigs {
    std::string_view name{};
    std::optional<std::string_view> value{};
    bool read_only = false;
    std::int8_t config_source = -1;
    bool is_sensitive = false;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("value", m.value);
      v("read_only", m.read_only);
      v("config_source", m.config_source);
      v("is_sensitive", m.is_sensitive);
    }
  };

  struct CreatableTopicResult {
    std::string_view name{};
    Uuid topic_id{};
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    std::int16_t topic_config_error_code = 0;
    std::int32_t num_partitions = -1;
    std::int16_t replication_factor = -1;
    std::optional<std::vector<CreatableTopicConfigs>> configs{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("topic_id", m.topic_id, since(7));
      v("error_code", m.error_code);
      v("error_message", m.error_message, since(1));
      v.tagged(0, "topic_config_error_code", m.topic_config_error_code, since(5));
      v("num_partitions", m.num_partitions, since(5));
      v("replication_factor", m.replication_factor, since(5));
      v("configs", m.configs, since(5));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<CreatableTopicResult> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(2));
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
