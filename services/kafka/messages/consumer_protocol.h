// What consumers tell each other inside of JoinGroup and SyncGroup, and so in records of classic groups: a version in
// two bytes (services/kafka/consumer_protocol.h), then one of these. Owned partitions are those before the rebalance,
// as of generation_id.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ConsumerProtocolSubscription {
  static constexpr MessageInfo kMessage{.name = "ConsumerProtocolSubscription",
                                        .api_key = -1,
                                        .kind = MessageKind::data,
                                        .version_min = 0,
                                        .version_max = 3};

  struct TopicPartition {
    std::string_view topic{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic);
      v("partitions", m.partitions);
    }
  };

  std::vector<std::string_view> topics{};
  std::optional<Bytes> user_data{};
  std::vector<TopicPartition> owned_partitions{};
  std::int32_t generation_id = -1;
  std::optional<std::string_view> rack_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("topics", m.topics);
    v("user_data", m.user_data);
    v("owned_partitions", m.owned_partitions, since(1));
    v("generation_id", m.generation_id, since(2));
    v("rack_id", m.rack_id, since(3));
  }
};

struct ConsumerProtocolAssignment {
  static constexpr MessageInfo kMessage{.name = "ConsumerProtocolAssignment",
                                        .api_key = -1,
                                        .kind = MessageKind::data,
                                        .version_min = 0,
                                        .version_max = 3};

  struct TopicPartition {
    std::string_view topic{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic);
      v("partitions", m.partitions);
    }
  };

  std::vector<TopicPartition> assigned_partitions{};
  std::optional<Bytes> user_data{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("assigned_partitions", m.assigned_partitions);
    v("user_data", m.user_data);
  }
};

}  // namespace tailrace::kafka
