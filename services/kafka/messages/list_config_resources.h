// ListConfigResources (key 74, KIP-714 and KIP-1142): names of the resources that have settings of their own. Version 0
// knows client metrics only; an empty request means all types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ListConfigResourcesRequest {
  static constexpr MessageInfo kMessage{.name = "ListConfigResourcesRequest",
                                        .api_key = 74,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 0};

  std::vector<std::int8_t> resource_types{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("resource_types", m.resource_types, since(1));
  }
};

struct ListConfigResourcesResponse {
  static constexpr MessageInfo kMessage{.name = "ListConfigResourcesResponse",
                                        .api_key = 74,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 0};

  struct ConfigResource {
    std::string_view resource_name{};
    std::int8_t resource_type = 16;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("resource_name", m.resource_name);
      v("resource_type", m.resource_type, since(1));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::vector<ConfigResource> config_resources{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("config_resources", m.config_resources);
  }
};

}  // namespace tailrace::kafka
