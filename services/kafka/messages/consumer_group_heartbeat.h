// ConsumerGroupHeartbeat (key 68, KIP-848): joins, leaves and keeps a member in a group of the consumer protocol.
// Member epoch 0 joins, -1 leaves, -2 leaves for a while (static members). Null fields have not changed since the
// heartbeat before; a null assignment in the response neither.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ConsumerGroupHeartbeatRequest {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupHeartbeatRequest",
                                        .api_key = 68,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 0};

  struct TopicPartitions {
    Uuid topic_id{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("partitions", m.partitions);
    }
  };

  std::string_view group_id{};
  std::string_view member_id{};
  std::int32_t member_epoch = 0;
  std::optional<std::string_view> instance_id{};
  std::optional<std::string_view> rack_id{};
  std::int32_t rebalance_timeout_ms = -1;
  std::optional<std::vector<std::string_view>> subscribed_topic_names{};
  std::optional<std::string_view> subscribed_topic_regex{};
  std::optional<std::string_view> server_assignor{};
  std::optional<std::vector<TopicPartitions>> topic_partitions{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_id", m.group_id);
    v("member_id", m.member_id);
    v("member_epoch", m.member_epoch);
    v("instance_id", m.instance_id);
    v("rack_id", m.rack_id);
    v("rebalance_timeout_ms", m.rebalance_timeout_ms);
    v("subscribed_topic_names", m.subscribed_topic_names);
    v("subscribed_topic_regex", m.subscribed_topic_regex, since(1));
    v("server_assignor", m.server_assignor);
    v("topic_partitions", m.topic_partitions);
  }
};

struct ConsumerGroupHeartbeatResponse {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupHeartbeatResponse",
                                        .api_key = 68,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 0};

  struct TopicPartitions {
    Uuid topic_id{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("partitions", m.partitions);
    }
  };

  struct Assignment {
    std::vector<TopicPartitions> topic_partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_partitions", m.topic_partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::optional<std::string_view> error_message{};
  std::optional<std::string_view> member_id{};
  std::int32_t member_epoch = 0;
  std::int32_t heartbeat_interval_ms = 0;
  std::optional<Assignment> assignment{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("error_message", m.error_message);
    v("member_id", m.member_id);
    v("member_epoch", m.member_epoch);
    v("heartbeat_interval_ms", m.heartbeat_interval_ms);
    v("assignment", m.assignment);
  }
};

}  // namespace tailrace::kafka
