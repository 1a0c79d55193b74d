// JoinGroup (key 11): a member of a classic group enters a rebalance and is answered when all have. The leader alone
// gets the members and their metadata (ConsumerProtocolSubscription for consumers). Before version 1 the session
// timeout is the rebalance timeout, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct JoinGroupRequest {
  static constexpr MessageInfo kMessage{.name = "JoinGroupRequest",
                                        .api_key = 11,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 9,
                                        .flexible_from = 6};

  struct JoinGroupRequestProtocol {
    std::string_view name{};
    Bytes metadata{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("metadata", m.metadata);
    }
  };

  std::string_view group_id{};
  std::int32_t session_timeout_ms = 0;
  std::int32_t rebalance_timeout_ms = -1;
  std::string_view member_id{};
  std::optional<std::string_view> group_instance_id{};
  std::string_view protocol_type{};
  std::vector<JoinGroupRequestProtocol> protocols{};
  std::optional<std::string_view> reason{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("session_timeout_ms", m.session_timeout_ms);
    v("rebalance_timeout_ms", m.rebalance_timeout_ms, since(1));
    v("member_id", m.member_id);
    v("group_instance_id", m.group_instance_id, since(5));
    v("protocol_type", m.protocol_type);
    v("protocols", m.protocols);
    v("reason", m.reason, since(8));
  }
};

struct JoinGroupResponse {
  static constexpr MessageInfo kMessage{.name = "JoinGroupResponse",
                                        .api_key = 11,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 9,
                                        .flexible_from = 6};

  struct JoinGroupResponseMember {
    std::string_view member_id{};
    std::optional<std::string_view> group_instance_id{};
    Bytes metadata{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("member_id", m.member_id);
      v("group_instance_id", m.group_instance_id, since(5));
      v("metadata", m.metadata);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::int32_t generation_id = -1;
  std::optional<std::string_view> protocol_type{};
  std::optional<std::string_view> protocol_name{""};
  std::string_view leader{};
  bool skip_assignment = false;
  std::string_view member_id{};
  std::vector<JoinGroupResponseMember> members{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(2));
    v("error_code", m.error_code);
    v("generation_id", m.generation_id);
    v("protocol_type", m.protocol_type, since(7));
    v("protocol_name", m.protocol_name, nullable_since(7));
    v("leader", m.leader);
    v("skip_assignment", m.skip_assignment, since(9));
    v("member_id", m.member_id);
    v("members", m.members);
  }
};

}  // namespace tailrace::kafka
