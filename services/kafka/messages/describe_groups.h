// DescribeGroups (key 15): state and members of classic groups. authorized_operations are bits by the numbers of
// Kafka's AclOperation; the least int32 stands for not asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DescribeGroupsRequest {
  static constexpr MessageInfo kMessage{.name = "DescribeGroupsRequest",
                                        .api_key = 15,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 6,
                                        .flexible_from = 5};

  std::vector<std::string_view> groups{};
  bool include_authorized_operations = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("groups", m.groups);
    v("include_authorized_operations", m.include_authorized_operations, since(3));
  }
};

struct DescribeGroupsResponse {
  static constexpr MessageInfo kMessage{.name = "DescribeGroupsResponse",
                                        .api_key = 15,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 6,
                                        .flexible_from = 5};

  struct DescribedGroupMember {
    std::string_view member_id{};
    std::optional<std::string_view> group_instance_id{};
    std::string_view client_id{};
    std::string_view client_host{};
    Bytes member_metadata{};
    Bytes member_assignment{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("member_id", m.member_id);
      v("group_instance_id", m.group_instance_id, since(4));
      v("client_id", m.client_id);
      v("client_host", m.client_host);
      v("member_metadata", m.member_metadata);
      v("member_assignment", m.member_assignment);
    }
  };

  struct DescribedGroup {
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    std::string_view group_id{};
    std::string_view group_state{};
    std::string_view protocol_type{};
    std::string_view protocol_data{};
    std::vector<DescribedGroupMember> members{};
    std::int32_t authorized_operations = kInt32Min;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("error_message", m.error_message, since(6));
      v("group_id", m.group_id);
      v("group_state", m.group_state);
      v("protocol_type", m.protocol_type);
      v("protocol_data", m.protocol_data);
      v("members", m.members);
      v("authorized_operations", m.authorized_operations, since(3));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<DescribedGroup> groups{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v("groups", m.groups);
  }
};

}  // namespace tailrace::kafka
