// ListGroups (key 16): the groups that a broker coordinates; a filter that is empty lets all through.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ListGroupsRequest {
  static constexpr MessageInfo kMessage{.name = "ListGroupsRequest",
                                        .api_key = 16,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 3};

  std::vector<std::string_view> states_filter{};
  std::vector<std::string_view> types_filter{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("states_filter", m.states_filter, since(4));
    v("types_filter", m.types_filter, since(5));
  }
};

struct ListGroupsResponse {
  static constexpr MessageInfo kMessage{.name = "ListGroupsResponse",
                                        .api_key = 16,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 3};

  struct ListedGroup {
    std::string_view group_id{};
    std::string_view protocol_type{};
    std::string_view group_state{};
    std::string_view group_type{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("group_id", m.group_id);
      v("protocol_type", m.protocol_type);
      v("group_state", m.group_state, since(4));
      v("group_type", m.group_type, since(5));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::vector<ListedGroup> groups{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v("error_code", m.error_code);
    v("groups", m.groups);
  }
};

}  // namespace tailrace::kafka
