// IncrementalAlterConfigs (key 44, KIP-339): changes single settings. config_operation: 0 set, 1 delete, 2 append, 3
// subtract (the last two of lists).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct IncrementalAlterConfigsRequest {
  static constexpr MessageInfo kMessage{.name = "IncrementalAlterConfigsRequest",
                                        .api_key = 44,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 1};

  struct AlterableConfig {
    std::string_view name{};
    std::int8_t config_operation = 0;
    std::optional<std::string_view> value{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("config_operation", m.config_operation);
      v("value", m.value);
    }
  };

  struct AlterConfigsResource {
    std::int8_t resource_type = 0;
    std::string_view resource_name{};
    std::vector<AlterableConfig> configs{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("resource_type", m.resource_type);
      v("resource_name", m.resource_name);
      v("configs", m.configs);
    }
  };

  std::vector<AlterConfigsResource> resources{};
  bool validate_only = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("resources", m.resources);
    v("validate_only", m.validate_only);
  }
};

struct IncrementalAlterConfigsResponse {
  static constexpr MessageInfo kMessage{.name = "IncrementalAlterConfigsResponse",
                                        .api_key = 44,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 1};

  struct AlterConfigsResourceResponse {
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    std::int8_t resource_type = 0;
    std::string_view resource_name{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("error_message", m.error_message);
      v("resource_type", m.resource_type);
      v("resource_name", m.resource_name);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<AlterConfigsResourceResponse> responses{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("responses", m.responses);
  }
};

}  // namespace tailrace::kafka
