// How far groups lag, a page at a time: what `tailrace stat --groups` asks of tailrace-groupcoord, and the answer.
// Messages of our own, as those of internal.h.
//
// Pages go through the groups in an order that stands still: by the partition of __consumer_offsets that has the group,
// then by group, topic and partition. Each page begins behind where the one before ended, whatever has come or gone in
// between. So each group and each of its partitions is told of at most once, and exactly once where it was there from
// the first page to the last; of what came or went meanwhile, some is told. What was committed is that of one moment
// for the whole page; ends and times were asked for after it, so an end is never older than what was committed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"
#include "services/kafka/messages/internal.h"

namespace tailrace::kafka {

constexpr std::int16_t kGroupLagKey = 1002;

// Rows of one page at most: partitions, and groups that have none. About 40 KiB where names are short.
constexpr std::int32_t kGroupLagRowsMax = 1'000;

struct GroupLagRequest {
  static constexpr MessageInfo kMessage{.name = "GroupLagRequest",
                                        .api_key = kGroupLagKey,
                                        .kind = MessageKind::internal,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::int32_t rows_max = kGroupLagRowsMax;       // 1 to kGroupLagRowsMax
  std::optional<std::string_view> after_group{};  // null: from the first
  std::optional<std::string_view> after_topic{};  // of that group; null: behind all of it
  std::int32_t after_partition = -1;              // of that topic
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("rows_max", m.rows_max);
    v("after_group", m.after_group);
    v("after_topic", m.after_topic);
    v("after_partition", m.after_partition);
  }
};

struct GroupLagResponse {
  static constexpr MessageInfo kMessage{.name = "GroupLagResponse",
                                        .api_key = kGroupLagKey,
                                        .kind = MessageKind::internal,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct Partition {
    std::int32_t partition = 0;
    std::int64_t committed_offset = 0;
    std::int64_t end_offset = -1;               // the high watermark; -1: not known
    std::int64_t oldest_unread_timestamp = -1;  // of the first record that is not consumed; -1: none, or not known
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("partition", m.partition);
      v("committed_offset", m.committed_offset);
      v("end_offset", m.end_offset);
      v("oldest_unread_timestamp", m.oldest_unread_timestamp);
    }
  };

  struct Topic {
    std::string_view name{};
    std::vector<Partition> partitions{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("partitions", m.partitions);
    }
  };

  struct Group {
    std::string_view group_id{};
    std::string_view type{};   // "Classic", "Consumer"
    std::string_view state{};  // "Stable", ...
    std::vector<Topic> topics{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("group_id", m.group_id);
      v("type", m.type);
      v("state", m.state);
      v("topics", m.topics);
    }
  };

  // Groups are still being read: there is no page yet, ask again. The rest is empty.
  bool is_loading = false;
  bool has_more = false;
  std::vector<Group> groups{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("is_loading", m.is_loading);
    v("has_more", m.has_more);
    v("groups", m.groups);
  }
};

}  // namespace tailrace::kafka
