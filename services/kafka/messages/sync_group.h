// SyncGroup (key 14): the leader brings the assignment of each member, and each member gets its own
// (ConsumerProtocolAssignment for consumers).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct SyncGroupRequest {
  static constexpr MessageInfo kMessage{.name = "SyncGroupRequest",
                                        .api_key = 14,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 4};

  struct SyncGroupRequestAssignment {
    std::string_view member_id{};
    Bytes assignment{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("member_id", m.member_id);
      v("assignment", m.assignment);
    }
  };

  std::string_view group_id{};
  std::int32_t generation_id = 0;
  std::string_view member_id{};
  std::optional<std::string_view> group_instance_id{};
  std::optional<std::string_view> protocol_type{};
  std::optional<std::string_view> protocol_name{};
  std::vector<SyncGroupRequestAssignment> assignments{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("generation_id", m.generation_id);
    v("member_id", m.member_id);
    v("group_instance_id", m.group_instance_id, since(3));
    v("protocol_type", m.protocol_type, since(5));
    v("protocol_name", m.protocol_name, since(5));
    v("assignments", m.assignments);
  }
};

struct SyncGroupResponse {
  static constexpr MessageInfo kMessage{.name = "SyncGroupResponse",
                                        .api_key = 14,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 4};

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::optional<std::string_view> protocol_type{};
  std::optional<std::string_view> protocol_name{};
  Bytes assignment{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v("error_code", m.error_code);
    v("protocol_type", m.protocol_type, since(5));
    v("protocol_name", m.protocol_name, since(5));
    v("assignment", m.assignment);
  }
};

}  // namespace tailrace::kafka
