// Heartbeat (key 12): a member of a classic group says that it lives, and hears whether a rebalance has begun.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct HeartbeatRequest {
  static constexpr MessageInfo kMessage{.name = "HeartbeatRequest",
                                        .api_key = 12,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 4};

  std::string_view group_id{};
  std::int32_t generation_id = 0;
  std::string_view member_id{};
  std::optional<std::string_view> group_instance_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("generation_id", m.generation_id);
    v("member_id", m.member_id);
    v("group_instance_id", m.group_instance_id, since(3));
  }
};

struct HeartbeatResponse {
  static constexpr MessageInfo kMessage{.name = "HeartbeatResponse",
                                        .api_key = 12,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 4};

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v("error_code", m.error_code);
  }
};

}  // namespace tailrace::kafka
