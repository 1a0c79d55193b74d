// LeaveGroup (key 13): members leave a group. From version 3 on several at once, and static ones by their instance id.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct LeaveGroupRequest {
  static constexpr MessageInfo kMessage{.name = "LeaveGroupRequest",
                                        .api_key = 13,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 4};

  struct MemberIdentity {
    std::string_view member_id{};
    std::optional<std::string_view> group_instance_id{};
    std::optional<std::string_view> reason{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("member_id", m.member_id);
      v("group_instance_id", m.group_instance_id);
      v("reason", m.reason, since(5));
    }
  };

  std::string_view group_id{};
  std::string_view member_id{};
  std::vector<MemberIdentity> members{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("member_id", m.member_id, until(2));
    v("members", m.members, since(3));
  }
};

struct LeaveGroupResponse {
  static constexpr MessageInfo kMessage{.name = "LeaveGroupResponse",
                                        .api_key = 13,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 4};

  struct MemberResponse {
    std::string_view member_id{};
    std::optional<std::string_view> group_instance_id{""};
    std::int16_t error_code = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("member_id", m.member_id);
      v("group_instance_id", m.group_instance_id);
      v("error_code", m.error_code);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::vector<MemberResponse> members{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v("error_code", m.error_code);
    v("members", m.members, since(3));
  }
};

}  // namespace tailrace::kafka
