// Fetch (key 1): batches from partitions, for consumers and followers. replica_id (15 and later: replica_state) is -1
// for consumers; isolation_level 0 reads up to the high watermark, 1 up to the last stable offset. Versions 7 and later
// may be incremental (KIP-227): session_id 0 with session_epoch 0 asks for a session, session_epoch -1 for none.
// Versions 13 and later name topics by id. The records of a response may come from files, see RecordsField.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct FetchRequest {
  static constexpr MessageInfo kMessage{.name = "FetchRequest",
                                        .api_key = 1,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 18,
                                        .flexible_from = 12};

  struct ReplicaState {
    std::int32_t replica_id = -1;
    std::int64_t replica_epoch = -1;
    UnknownTaggedFields unknown_tagged_fields{};
    friend bool operator==(const ReplicaState&, const ReplicaState&) = default;

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("replica_id", m.replica_id);
      v("replica_epoch", m.replica_epoch);
    }
  };

  struct FetchPartition {
    std::int32_t partition = 0;
    std::int32_t current_leader_epoch = -1;
    std::int64_t fetch_offset = 0;
    std::int32_t last_fetched_epoch = -1;
    std::int64_t log_start_offset = -1;
    std::int32_t partition_max_bytes = 0;
    Uuid replica_directory_id{};
    std::int64_t high_watermark = kInt64Max;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition", m.partition);
      v("current_leader_epoch", m.current_leader_epoch, since(9));
      v("fetch_offset", m.fetch_offset);
      v("last_fetched_epoch", m.last_fetched_epoch, since(12));
      v("log_start_offset", m.log_start_offset, since(5));
      v("partition_max_bytes", m.partition_max_bytes);
      v.tagged(0, "replica_directory_id", m.replica_directory_id, since(17));
      v.tagged(1, "high_watermark", m.high_watermark, since(18), kInt64Max);
    }
  };

  struct FetchTopic {
    std::string_view topic{};
    Uuid topic_id{};
    std::vector<FetchPartition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic, until(12));
      v("topic_id", m.topic_id, since(13));
      v("partitions", m.partitions);
    }
  };

  struct ForgottenTopic {
    std::string_view topic{};
    Uuid topic_id{};
    std::vector<std::int32_t> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic, until(12));
      v("topic_id", m.topic_id, since(13));
      v("partitions", m.partitions);
    }
  };

  std::optional<std::string_view> cluster_id{};
  std::int32_t replica_id = -1;
  ReplicaState replica_state{};
  std::int32_t max_wait_ms = 0;
  std::int32_t min_bytes = 0;
  std::int32_t max_bytes = kInt32Max;
  std::int8_t isolation_level = 0;
  std::int32_t session_id = 0;
  std::int32_t session_epoch = -1;
  std::vector<FetchTopic> topics{};
  std::vector<ForgottenTopic> forgotten_topics_data{};
  std::string_view rack_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v.tagged(0, "cluster_id", m.cluster_id, since(12));
    v("replica_id", m.replica_id, until(14));
    v.tagged(1, "replica_state", m.replica_state, since(15));
    v("max_wait_ms", m.max_wait_ms);
    v("min_bytes", m.min_bytes);
    v("max_bytes", m.max_bytes, since(3));
    v("isolation_level", m.isolation_level, since(4));
    v("session_id", m.session_id, since(7));
    v("session_epoch", m.session_epoch, since(7));
    v("topics", m.topics);
    v("forgotten_topics_data", m.forgotten_topics_data, since(7));
    v("rack_id", m.rack_id, since(11));
  }
};

struct FetchResponse {
  static constexpr MessageInfo kMessage{.name = "FetchResponse",
                                        .api_key = 1,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 18,
                                        .flexible_from = 12};

  struct EpochEndOffset {
    std::int32_t epoch = -1;
    std::int64_t end_offset = -1;
    UnknownTaggedFields unknown_tagged_fields{};
    friend bool operator==(const EpochEndOffset&, const EpochEndOffset&) = default;

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("epoch", m.epoch);
      v("end_offset", m.end_offset);
    }
  };

  struct LeaderIdAndEpoch {
    std::int32_t leader_id = -1;
    std::int32_t leader_epoch = -1;
    UnknownTaggedFields unknown_tagged_fields{};
    friend bool operator==(const LeaderIdAndEpoch&, const LeaderIdAndEpoch&) = default;

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("leader_id", m.leader_id);
      v("leader_epoch", m.leader_epoch);
    }
  };

  struct SnapshotId {
    std::int64_t end_offset = -1;
    std::int32_t epoch = -1;
    UnknownTaggedFields unknown_tagged_fields{};
    friend bool operator==(const SnapshotId&, const SnapshotId&) = default;

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("end_offset", m.end_offset);
      v("epoch", m.epoch);
    }
  };

  struct AbortedTransaction {
    std::int64_t producer_id = 0;
    std::int64_t first_offset = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("producer_id", m.producer_id);
      v("first_offset", m.first_offset);
    }
  };

  struct PartitionData {
    std::int32_t partition_index = 0;
    std::int16_t error_code = 0;
    std::int64_t high_watermark = 0;
    std::int64_t last_stable_offset = -1;
    std::int64_t log_start_offset = -1;
    EpochEndOffset diverging_epoch{};
    LeaderIdAndEpoch current_leader{};
    SnapshotId snapshot_id{};
    std::optional<std::vector<AbortedTransaction>> aborted_transactions{};
    std::int32_t preferred_read_replica = -1;
    RecordsField records{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition_index", m.partition_index);
      v("error_code", m.error_code);
      v("high_watermark", m.high_watermark);
      v("last_stable_offset", m.last_stable_offset, since(4));
      v("log_start_offset", m.log_start_offset, since(5));
      v.tagged(0, "diverging_epoch", m.diverging_epoch, since(12));
      v.tagged(1, "current_leader", m.current_leader, since(12));
      v.tagged(2, "snapshot_id", m.snapshot_id, since(12));
      v("aborted_transactions", m.aborted_transactions, since(4));
      v("preferred_read_replica", m.preferred_read_replica, since(11));
      v.records("records", m.records);
    }
  };

  struct FetchableTopicResponse {
    std::string_view topic{};
    Uuid topic_id{};
    std::vector<PartitionData> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic", m.topic, until(12));
      v("topic_id", m.topic_id, since(13));
      v("partitions", m.partitions);
    }
  };

  struct NodeEndpoint {
    std::int32_t node_id = 0;
    std::string_view host{};
    std::int32_t port = 0;
    std::optional<std::string_view> rack{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("node_id", m.node_id);
      v("host", m.host);
      v("port", m.port);
      v("rack", m.rack);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::int32_t session_id = 0;
  std::vector<FetchableTopicResponse> responses{};
  std::vector<NodeEndpoint> node_endpoints{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v("error_code", m.error_code, since(7));
    v("session_id", m.session_id, since(7));
    v("responses", m.responses);
    v.tagged(0, "node_endpoints", m.node_endpoints, since(16));
  }
};

}  // namespace tailrace::kafka
