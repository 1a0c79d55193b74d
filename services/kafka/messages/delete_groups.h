// DeleteGroups (key 42): deletes groups without members, and all that they have committed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DeleteGroupsRequest {
  static constexpr MessageInfo kMessage{.name = "DeleteGroupsRequest",
                                        .api_key = 42,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 3,
                                        .flexible_from = 2};

  std::vector<std::string_view> groups_names{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("groups_names", m.groups_names);
  }
};

struct DeleteGroupsResponse {
  static constexpr MessageInfo kMessage{.name = "DeleteGroupsResponse",
                                        .api_key = 42,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 3,
                                        .flexible_from = 2};

  struct DeletableGroupResult {
    std::string_view group_id{};
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("group_id", m.group_id);
      v("error_code", m.error_code);
      v("error_message", m.error_message, since(3));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<DeletableGroupResult> results{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("results", m.results);
  }
};

}  // namespace tailrace::kafka
