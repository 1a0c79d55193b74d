// Offsets: what the groups of one shard have committed, by group, topic and partition, the open transactional commits
// too. Kafka: OffsetMetadataManager. Whether a member may commit is asked of its group before. PURE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "services/groupcoord/effects.h"
#include "services/groupcoord/group.h"
#include "services/groupcoord/partition_offsets.h"

namespace tailrace::kafka {
struct OffsetCommitKey;
struct OffsetCommitRequest;
struct OffsetCommitResponse;
struct OffsetCommitValue;
struct OffsetDeleteRequest;
struct OffsetDeleteResponse;
}  // namespace tailrace::kafka

namespace tailrace::groupcoord {

struct DeletedTopic;

class Offsets {
 public:
  using Topics = std::map<std::string, PartitionOffsets, std::less<>>;
  using Groups = std::map<std::string, Topics, std::less<>>;

  // What the log takes in a batch by default (max.message.bytes), less the batch around the records.
  static constexpr std::size_t kCommitBytesMax = 1'048'488;

  explicit Offsets(const Context& context) : context_(context) {}

  // -- The fold: a record of the log, live or on reload --

  struct Applied {
    bool is_readable = false;                     // false: it is no such record, and nothing has changed
    std::optional<std::string_view> committer{};  // the group that has committed, open or not; from the key
  };
  // Key type 0 or 1. `producer_id`: of a transactional batch; what it says counts when the transaction is committed,
  // unless a record that stands behind it in the log has said something else by then.
  Applied apply(Bytes key, std::optional<Bytes> value, ProducerId producer_id);
  void end_transaction(ProducerId producer_id, bool is_committed);

  // -- Requests. Records are applied as they are given out. --

  // What a commit names, by the cluster as it is now: NONE for partitions that exist. Names and ids of topics are
  // filled in, whatever the version. The answer borrows from the request and the image.
  [[nodiscard]] kafka::OffsetCommitResponse judge(const kafka::OffsetCommitRequest& request,
                                                  std::int16_t version) const;
  // Commits the partitions for which `judged` says NONE; metadata too large is said there, and UNKNOWN_SERVER_ERROR, as
  // in Kafka, of all when the records would be more than a batch takes. The group has been asked.
  void commit(const kafka::OffsetCommitRequest& request, const Moment& moment, kafka::OffsetCommitResponse& judged,
              Effects& effects);
  // OffsetDelete: topics that `group` is subscribed to are refused (GROUP_SUBSCRIBED_TO_TOPIC).
  void remove(const kafka::OffsetDeleteRequest& request, const Group& group, kafka::OffsetDeleteResponse& response,
              Effects& effects);
  // All of a group.
  void remove_all(std::string_view group, Effects& effects);

  // Work that may be long: each call stops when `effects` has `records_max` records.
  //
  // Those of a group that nobody has used for too long (KIP-211). True: the group has none left.
  bool expire(const Group& group, const Moment& moment, std::size_t records_max, Effects& effects);
  // Those of topics that are gone; a topic of the same name that was made anew keeps its own. From group `from` on, ""
  // for all. Returns the group to go on with; nullopt: that was the last.
  std::optional<std::string> remove_topics(const std::vector<DeletedTopic>& topics, std::string_view from,
                                           std::size_t records_max, Effects& effects);

  // -- Reading --

  [[nodiscard]] const Groups& groups() const { return committed_; }
  // nullptr: none.
  [[nodiscard]] const Topics* find(std::string_view group) const;
  [[nodiscard]] const CommittedOffset* find(std::string_view group, std::string_view topic,
                                            std::int32_t partition) const;
  // An open transaction has committed to it: OffsetFetch with require_stable says UNSTABLE_OFFSET_COMMIT.
  [[nodiscard]] bool is_unstable(std::string_view group, std::string_view topic, std::int32_t partition) const;
  // Open transactional commits to any of its partitions: it must not go.
  [[nodiscard]] bool has_open(std::string_view group) const;
  [[nodiscard]] bool has_any(std::string_view group) const { return committed_.contains(group) || has_open(group); }

 private:
  struct Place {
    std::string group;
    std::string topic;
    std::int32_t partition;
  };
  struct PlaceView {
    std::string_view group;
    std::string_view topic;
    std::int32_t partition;
  };
  struct Before {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      if (const int order = std::string_view(a.group).compare(b.group); order != 0) return order < 0;
      if (const int order = std::string_view(a.topic).compare(b.topic); order != 0) return order < 0;
      return a.partition < b.partition;
    }
  };
  struct OpenCommit {
    ProducerId producer_id;
    CommittedOffset committed;
  };

  void fold(const kafka::OffsetCommitKey& key, const kafka::OffsetCommitValue* value, ProducerId producer_id);
  void put(std::string_view group, std::string_view topic, CommittedOffset committed);
  void put_open(const kafka::OffsetCommitKey& key, ProducerId producer_id, CommittedOffset committed);
  void erase(const kafka::OffsetCommitKey& key);
  // Gives out the tombstone.
  void forget(std::string_view group, std::string_view topic, std::int32_t partition, Effects& effects);
  // Those of one group, committed or open, that belonged to the topic.
  void forget_topic(std::string_view group, const DeletedTopic& topic, std::size_t records_max, Effects& effects);

  const Context& context_;
  Groups committed_;
  std::map<Place, std::vector<OpenCommit>, Before> open_;  // one for each producer
  // Where producers have committed to; places that are not open any more may be among them.
  std::unordered_map<ProducerId, std::vector<Place>> places_;
  std::uint64_t order_ = 0;  // records so far
};

}  // namespace tailrace::groupcoord
