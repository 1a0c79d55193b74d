// OffsetForLeaderEpoch (key 23): the end offset of a leader epoch, by which followers and consumers find where their
// log parted from the leader's (KIP-101). replica_id -1: a consumer; -2: a debugging consumer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct OffsetForLeaderEpochRequest {
  static constexpr MessageInfo kMessage{.name = "OffsetForLeaderEpochRequest",
                                        .api_key = 23,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 4};

  struct OffsetForLeaderPartition {
    std::int32_t partition = 0;
    std::int32_t current_leader_epoch = -1;
    std::int32_t leader_epoch = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition", m.partition);
      v("current_leader_epoch", m.current_leader_epoch, since(2));
      v("leader_epoch", m.leader_epoch);
    }
  };

  struct OffsetForLeaderTopic {
    std::string_view topic{};
    std::vector<OffsetForLeaderPartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic);
      v("partitions", m.partitions);
    }
  };

  std::int32_t replica_id = -2;
  std::vector<OffsetForLeaderTopic> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("replica_id", m.replica_id, since(3));
    v("topics", m.topics);
  }
};

struct OffsetForLeaderEpochResponse {
  static constexpr MessageInfo kMessage{.name = "OffsetForLeaderEpochResponse",
                                        .api_key = 23,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 4};

  struct EpochEndOffset {
    std::int16_t error_code = 0;
    std::int32_t partition = 0;
    std::int32_t leader_epoch = -1;
    std::int64_t end_offset = -1;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("error_code", m.error_code);
      v("partition", m.partition);
      v("leader_epoch", m.leader_epoch, since(1));
      v("end_offset", m.end_offset);
    }
  };

  struct OffsetForLeaderTopicResult {
    std::string_view topic{};
    std::vector<EpochEndOffset> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic);
      v("partitions", m.partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<OffsetForLeaderTopicResult> topics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(2));
    v("topics", m.topics);
  }
};

}  // namespace tailrace::kafka
