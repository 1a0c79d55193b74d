// Offsets: what the groups of one shard have committed, by group, topic and partition, the open transactional commits
// too. Kafka: OffsetMetadataManager. Whether a member may commit is asked of its group before. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/types.h"
#include "services/groupcoord/effects.h"
#include "services/groupcoord/group.h"

namespace tailrace::kafka {
struct OffsetCommitRequest;
struct OffsetCommitResponse;
struct OffsetDeleteRequest;
struct OffsetDeleteResponse;
}  // namespace tailrace::kafka

namespace tailrace::groupcoord {

struct CommittedOffset {
  Offset offset = kNoOffset;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::string metadata;
  TimestampMs committed_ms = kNoTimestamp;
  TimestampMs expires_ms = kNoTimestamp;  // of OffsetCommit 2 to 4 with a retention time; none: by the settings
  Uuid topic_id;                          // zero: not known
};

class Offsets {
 public:
  using Partitions = std::map<std::int32_t, CommittedOffset>;
  using Topics = std::map<std::string, Partitions, std::less<>>;

  explicit Offsets(Context& context) : context_(context) {}

  // -- The fold: a record of the log, live or on reload --

  // Key type 0 or 1. `producer_id`: of a transactional batch; what it says counts when the transaction is committed.
  // False: the record is not one.
  bool apply(Bytes key, std::optional<Bytes> value, ProducerId producer_id);
  void end_transaction(ProducerId producer_id, bool is_committed);

  // -- Requests. Records are applied as they are given out. --

  // Commits what may be committed, and says of each partition how it went (metadata too large, unknown topic id). The
  // group has been asked.
  void commit(const kafka::OffsetCommitRequest& request, std::int16_t version, const Moment& moment,
              kafka::OffsetCommitResponse& response, Effects& effects);
  // OffsetDelete: topics that `group` is subscribed to are refused (GROUP_SUBSCRIBED_TO_TOPIC).
  void remove(const kafka::OffsetDeleteRequest& request, const Group& group, kafka::OffsetDeleteResponse& response,
              Effects& effects);
  // All of a group.
  void remove_all(std::string_view group, Effects& effects);
  // Those of a deleted topic, of every group.
  void remove_topic(std::string_view topic, Effects& effects);
  // Those of a group that nobody has used for too long (KIP-211). True: the group has none left.
  bool expire(const Group& group, const Moment& moment, Effects& effects);

  // -- Reading --

  // nullptr: none.
  [[nodiscard]] const Topics* find(std::string_view group) const;
  [[nodiscard]] const CommittedOffset* find(std::string_view group, std::string_view topic,
                                            std::int32_t partition) const;
  // An open transaction has committed to it: OffsetFetch with require_stable says UNSTABLE_OFFSET_COMMIT.
  [[nodiscard]] bool is_unstable(std::string_view group, std::string_view topic, std::int32_t partition) const;
  // Open transactional commits to any of its partitions: it must not go.
  [[nodiscard]] bool has_open(std::string_view group) const;
  [[nodiscard]] bool has_any(std::string_view group) const;

 private:
  Context& context_;
  std::map<std::string, Topics, std::less<>> committed_;  // by group
  // What open transactions have committed, by producer id, then group.
  std::unordered_map<ProducerId, std::map<std::string, Topics, std::less<>>> open_;
};

}  // namespace tailrace::groupcoord
