// DescribeConfigs (key 32): settings of topics (resource type 2), brokers (4) and broker loggers (8). Null keys ask for
// all of them. config_source and source: 1 topic, 2 one broker, 3 all brokers, 4 server.properties, 5 built-in default,
// 6 logger. config_type: 0 unknown, 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DescribeConfigsRequest {
  static constexpr MessageInfo kMessage{.name = "DescribeConfigsRequest",
                                        .api_key = 32,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 4};

  struct DescribeConfigsResource {
    std::int8_t resource_type = 0;
    std::string_view resource_name{};
    std::optional<std::vector<std::string_view>> configuration_keys{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("resource_type", m.resource_type);
      v("resource_name", m.resource_name);
      v("configuration_keys", m.configuration_keys);
    }
  };

  std::vector<DescribeConfigsResource> resources{};
  bool include_synonyms = false;
  bool include_documentation = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("resources", m.resources);
    v("include_synonyms", m.include_synonyms, since(1));
    v("include_documentation", m.include_documentation, since(3));
  }
};

struct DescribeConfigsResponse {
  static constexpr MessageInfo kMessage{.name = "DescribeConfigsResponse",
                                        .api_key = 32,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 4};

  struct DescribeConfigsSynonym {
    std::string_view name{};
    std::optional<std::string_view> value{};
    std::int8_t source = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("value", m.value);
      v("source", m.source);
    }
  };

  struct DescribeConfigsResourceResult {
    std::string_view name{};
    std::optional<std::string_view> value{};
    bool read_only = false;
    bool is_default = false;
    std::int8_t config_source = -1;
    bool is_sensitive = false;
    std::vector<DescribeConfigsSynonym> synonyms{};
    std::int8_t config_type = 0;
    std::optional<std::string_view> documentation{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("value", m.value);
      v("read_only", m.read_only);
      v("is_default", m.is_default, until(0));
      v("config_source", m.config_source, since(1));
      v("is_sensitive", m.is_sensitive);
      v("synonyms", m.synonyms, since(1));
      v("config_type", m.config_type, since(3));
      v("documentation", m.documentation, since(3));
    }
  };

  struct DescribeConfigsResult {
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    std::int8_t resource_type = 0;
    std::string_view resource_name{};
    std::vector<DescribeConfigsResourceResult> configs{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("error_message", m.error_message);
      v("resource_type", m.resource_type);
      v("resource_name", m.resource_name);
      v("configs", m.configs);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<DescribeConfigsResult> results{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("results", m.results);
  }
};

}  // namespace tailrace::kafka
