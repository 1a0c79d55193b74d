// Records of `__consumer_offsets` that Kafka has had from the beginning: committed offsets and classic groups. The
// api_key of such a message is the type of the record, which stands before the key (group_record.h); the version of the
// value stands before the value. Of type 0 are commits of long ago; Kafka writes type 1. Times are milliseconds since
// 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct LegacyOffsetCommitKey {
  static constexpr MessageInfo kMessage{.name = "LegacyOffsetCommitKey",
                                        .api_key = 0,
                                        .kind = MessageKind::record_key,
                                        .version_min = 0,
                                        .version_max = 0};

  std::string_view group{};
  std::string_view topic{};
  std::int32_t partition = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group", m.group);
    v("topic", m.topic);
    v("partition", m.partition);
  }
};

struct LegacyOffsetCommitValue {
  static constexpr MessageInfo kMessage{.name = "LegacyOffsetCommitValue",
                                        .api_key = 0,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 0};

  std::int64_t offset = 0;
  std::string_view metadata{};
  std::int64_t commit_timestamp = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("offset", m.offset);
    v("metadata", m.metadata);
    v("commit_timestamp", m.commit_timestamp);
  }
};

struct OffsetCommitKey {
  static constexpr MessageInfo kMessage{
      .name = "OffsetCommitKey", .api_key = 1, .kind = MessageKind::record_key, .version_min = 0, .version_max = 0};

  std::string_view group{};
  std::string_view topic{};
  std::int32_t partition = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group", m.group);
    v("topic", m.topic);
    v("partition", m.partition);
  }
};

struct OffsetCommitValue {
  static constexpr MessageInfo kMessage{.name = "OffsetCommitValue",
                                        .api_key = 1,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 4};

  std::int64_t offset = 0;
  std::int32_t leader_epoch = -1;
  std::string_view metadata{};
  std::int64_t commit_timestamp = 0;
  std::int64_t expire_timestamp = -1;
  Uuid topic_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("offset", m.offset);
    v("leader_epoch", m.leader_epoch, since(3));
    v("metadata", m.metadata);
    v("commit_timestamp", m.commit_timestamp);
    v("expire_timestamp", m.expire_timestamp, since(1).until(1));
    v.tagged(0, "topic_id", m.topic_id, since(4));
  }
};

struct GroupMetadataKey {
  static constexpr MessageInfo kMessage{
      .name = "GroupMetadataKey", .api_key = 2, .kind = MessageKind::record_key, .version_min = 0, .version_max = 0};

  std::string_view group{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("group", m.group);
  }
};

struct GroupMetadataValue {
  static constexpr MessageInfo kMessage{.name = "GroupMetadataValue",
                                        .api_key = 2,
                                        .kind = MessageKind::record_value,
                                        .version_min = 0,
                                        .version_max = 4,
                                        .flexible_from = 4};

  struct MemberMetadata {
    std::string_view member_id{};
    std::optional<std::string_view> group_instance_id{};
    std::string_view client_id{};
    std::string_view client_host{};
    std::int32_t rebalance_timeout = -1;
    std::int32_t session_timeout = 0;
    Bytes subscription{};
    Bytes assignment{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("member_id", m.member_id);
      v("group_instance_id", m.group_instance_id, since(3));
      v("client_id", m.client_id);
      v("client_host", m.client_host);
      v("rebalance_timeout", m.rebalance_timeout, since(1));
      v("session_timeout", m.session_timeout);
      v("subscription", m.subscription);
      v("assignment", m.assignment);
    }
  };

  std::string_view protocol_type{};
  std::int32_t generation = 0;
  std::optional<std::string_view> protocol{""};
  std::optional<std::string_view> leader{""};
  std::int64_t current_state_timestamp = -1;
  std::vector<MemberMetadata> members{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("protocol_type", m.protocol_type);
    v("generation", m.generation);
    v("protocol", m.protocol);
    v("leader", m.leader);
    v("current_state_timestamp", m.current_state_timestamp, since(2));
    v("members", m.members);
  }
};

}  // namespace tailrace::kafka
