// ConsumerGroupDescribe (key 69, KIP-848): state and members of groups of the consumer protocol. member_type is 0 for a
// member that speaks the classic protocol, 1 for the consumer protocol, -1 for unknown; authorized_operations as in
// DescribeGroups.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ConsumerGroupDescribeRequest {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupDescribeRequest",
                                        .api_key = 69,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 0};

  std::vector<std::string_view> group_ids{};
  bool include_authorized_operations = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group_ids", m.group_ids);
    v("include_authorized_operations", m.include_authorized_operations);
  }
};

struct ConsumerGroupDescribeResponse {
  static constexpr MessageInfo kMessage{.name = "ConsumerGroupDescribeResponse",
                                        .api_key = 69,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 1,
                                        .flexible_from = 0};

  struct TopicPartitions {
    Uuid topic_id{};
    std::string_view topic_name{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_id", m.topic_id);
      v("topic_name", m.topic_name);
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

  struct Member {
    std::string_view member_id{};
    std::optional<std::string_view> instance_id{};
    std::optional<std::string_view> rack_id{};
    std::int32_t member_epoch = 0;
    std::string_view client_id{};
    std::string_view client_host{};
    std::vector<std::string_view> subscribed_topic_names{};
    std::optional<std::string_view> subscribed_topic_regex{};
    Assignment assignment{};
    Assignment target_assignment{};
    std::int8_t member_type = -1;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("member_id", m.member_id);
      v("instance_id", m.instance_id);
      v("rack_id", m.rack_id);
      v("member_epoch", m.member_epoch);
      v("client_id", m.client_id);
      v("client_host", m.client_host);
      v("subscribed_topic_names", m.subscribed_topic_names);
      v("subscribed_topic_regex", m.subscribed_topic_regex);
      v("assignment", m.assignment);
      v("target_assignment", m.target_assignment);
      v("member_type", m.member_type, since(1));
    }
  };

  struct DescribedGroup {
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    std::string_view group_id{};
    std::string_view group_state{};
    std::int32_t group_epoch = 0;
    std::int32_t assignment_epoch = 0;
    std::string_view assignor_name{};
    std::vector<Member> members{};
    std::int32_t authorized_operations = kInt32Min;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("error_message", m.error_message);
      v("group_id", m.group_id);
      v("group_state", m.group_state);
      v("group_epoch", m.group_epoch);
      v("assignment_epoch", m.assignment_epoch);
      v("assignor_name", m.assignor_name);
      v("members", m.members);
      v("authorized_operations", m.authorized_operations);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<DescribedGroup> groups{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("groups", m.groups);
  }
};

}  // namespace tailrace::kafka
