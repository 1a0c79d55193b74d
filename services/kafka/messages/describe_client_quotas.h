// DescribeClientQuotas (key 48, KIP-546). match_type: 0 this name, 1 the default entity (match is null), 2 any name.
// Null entries come with an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DescribeClientQuotasRequest {
  static constexpr MessageInfo kMessage{.name = "DescribeClientQuotasRequest",
                                        .api_key = 48,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 1};

  struct ComponentData {
    std::string_view entity_type{};
    std::int8_t match_type = 0;
    std::optional<std::string_view> match{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("entity_type", m.entity_type);
      v("match_type", m.match_type);
      v("match", m.match);
    }
  };

  std::vector<ComponentData> components{};
  bool strict = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("components", m.components);
    v("strict", m.strict);
  }
};

struct DescribeClientQuotasResponse {
  static constexpr MessageInfo kMessage{.name = "DescribeClientQuotasResponse",
                                        .api_key = 48,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 1};

  struct EntityData {
    std::string_view entity_type{};
    std::optional<std::string_view> entity_name{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("entity_type", m.entity_type);
      v("entity_name", m.entity_name);
    }
  };

  struct ValueData {
    std::string_view key{};
    double value = 0.0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("key", m.key);
      v("value", m.value);
    }
  };

  struct EntryData {
    std::vector<EntityData> entity{};
    std::vector<ValueData> values{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("entity", m.entity);
      v("values", m.values);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::optional<std::string_view> error_message{};
  std::optional<std::vector<EntryData>> entries{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("error_message", m.error_message);
    v("entries", m.entries);
  }
};

}  // namespace tailrace::kafka
