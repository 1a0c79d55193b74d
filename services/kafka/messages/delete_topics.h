// DeleteTopics (key 20): by name, from version 6 on by name or id.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DeleteTopicsRequest {
  static constexpr MessageInfo kMessage{.name = "DeleteTopicsRequest",
                                        .api_key = 20,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 6,
                                        .flexible_from = 4};

  struct DeleteTopicState {
    std::optional<std::string_view> name{};
    Uuid topic_id{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("topic_id", m.topic_id);
    }
  };

  std::vector<DeleteTopicState> topics{};
  std::vector<std::string_view> topic_names{};
  std::int32_t timeout_ms = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics, since(6));
    v("topic_names", m.topic_names, until(5));
    v("timeout_ms", m.timeout_ms);
  }
};

struct DeleteTopicsResponse {
  static constexpr MessageInfo kMessage{.name = "DeleteTopicsResponse",
                                        .api_key = 20,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 6,
                                        .flexible_from = 4};

  struct DeletableTopicResult {
    std::optional<std::string_view> name{};
    Uuid topic_id{};
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name, nullable_since(6));
      v("topic_id", m.topic_id, since(6));
      v("error_code", m.error_code);
      v("error_message", m.error_message, since(5));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<DeletableTopicResult> responses{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v("responses", m.responses);
  }
};

}  // namespace tailrace::kafka
