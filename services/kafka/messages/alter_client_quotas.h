// AlterClientQuotas (key 49, KIP-546): sets or removes limits of entities; a null entity_name is the default of its
// type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct AlterClientQuotasRequest {
  static constexpr MessageInfo kMessage{.name = "AlterClientQuotasRequest",
                                        .api_key = 49,
                                        .kind = MessageKind::request,
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

  struct OpData {
    std::string_view key{};
    double value = 0.0;
    bool remove = false;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("key", m.key);
      v("value", m.value);
      v("remove", m.remove);
    }
  };

  struct EntryData {
    std::vector<EntityData> entity{};
    std::vector<OpData> ops{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("entity", m.entity);
      v("ops", m.ops);
    }
  };

  std::vector<EntryData> entries{};
  bool validate_only = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("entries", m.entries);
    v("validate_only", m.validate_only);
  }
};

struct AlterClientQuotasResponse {
  static constexpr MessageInfo kMessage{.name = "AlterClientQuotasResponse",
                                        .api_key = 49,
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

  struct EntryData {
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    std::vector<EntityData> entity{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("error_message", m.error_message);
      v("entity", m.entity);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<EntryData> entries{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("entries", m.entries);
  }
};

}  // namespace tailrace::kafka
