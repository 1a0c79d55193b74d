// Shard: the groups of one partition of __consumer_offsets, and what they have committed. Its state is the fold of that
// partition's records: apply() is the one way in, whether a record was just decided on or is read after a restart.
// (A classic group's members between two generations are the exception, as in Kafka: the record holds the last
// generation only.) Requests that concern a single group go to it whole; of the others it answers its part
// (offset_fetch.h, group_answers.h).
//
// Whoever owns it appends the records and sends the replies afterwards. If records are lost, the shard is thrown away
// and made anew from the log. Kafka: GroupCoordinatorShard. PURE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/groupcoord/deadlines.h"
#include "services/groupcoord/effects.h"
#include "services/groupcoord/group.h"
#include "services/groupcoord/image_change.h"
#include "services/groupcoord/offsets.h"
#include "services/kafka/errors.h"

namespace tailrace::kafka {
struct ConsumerGroupHeartbeatRequest;
struct HeartbeatRequest;
struct JoinGroupRequest;
struct LeaveGroupRequest;
struct OffsetCommitRequest;
struct OffsetDeleteRequest;
struct SyncGroupRequest;
}  // namespace tailrace::kafka

namespace tailrace::groupcoord {

class ClassicGroup;
class ConsumerGroup;

class Shard {
 public:
  using Groups = std::map<std::string, std::unique_ptr<Group>, std::less<>>;

  // Long work (offsets that expire, or whose topic is gone) is done in steps of about this many records or groups; the
  // next step is due at once, and others may be served before.
  static constexpr std::size_t kStepRecordsMax = 1'000;
  static constexpr std::size_t kStepGroupsMax = 10'000;

  // All three outlive the shard.
  Shard(const Settings& settings, const Chance& chance, std::shared_ptr<const node::MetadataImage> image);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // -- Loading --

  // A record of the log in its order; `producer_id` of a transactional batch. False: it was passed over: of a type that
  // is not served (share and streams groups, what newer brokers write), or not readable.
  bool apply(Bytes key, std::optional<Bytes> value, ProducerId producer_id);
  void end_transaction(ProducerId producer_id, bool is_committed) {
    offsets_.end_transaction(producer_id, is_committed);
  }
  // The log is read: members have their whole session time-out from now on.
  Effects on_loaded(const Moment& moment);

  // -- Requests about one group. Each is answered through effects, once, now or later. --

  Effects join(const Call& call, const Client& client, const kafka::JoinGroupRequest& request, const Moment& moment);
  Effects sync(const Call& call, const kafka::SyncGroupRequest& request, const Moment& moment);
  Effects heartbeat(const Call& call, const kafka::HeartbeatRequest& request, const Moment& moment);
  Effects leave(const Call& call, const kafka::LeaveGroupRequest& request, const Moment& moment);
  Effects commit(const Call& call, const kafka::OffsetCommitRequest& request, const Moment& moment);
  Effects delete_offsets(const Call& call, const kafka::OffsetDeleteRequest& request, const Moment& moment);
  Effects consumer_heartbeat(const Call& call, const Client& client,
                             const kafka::ConsumerGroupHeartbeatRequest& request, const Moment& moment);

  // -- Parts of requests about several groups --

  // Removes the group and its offsets, or says why not. As many records as it has offsets: they may be more than one
  // batch takes, and need not be in one; the group's own are the last.
  kafka::ErrorCode delete_group(std::string_view group, Effects& effects);
  // nullptr: there is none.
  [[nodiscard]] const Group* find(std::string_view group) const;
  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] const Offsets& offsets() const { return offsets_; }
  [[nodiscard]] const node::MetadataImage& image() const { return *context_.image; }
  [[nodiscard]] const Settings& settings() const { return context_.settings; }

  // -- The world --

  // When on_time has something to do, or earlier; nullopt: never.
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  Effects on_time(const Moment& moment);
  // Topics came, went or changed: offsets of deleted ones go, consumer groups are assigned anew. `change`: from image()
  // to `image`.
  Effects on_image(std::shared_ptr<const node::MetadataImage> image, const ImageChange& change);

 private:
  [[nodiscard]] Group* find_group(std::string_view id);
  [[nodiscard]] ClassicGroup* find_classic(std::string_view id);
  // nullptr: there is none, or nobody is in it.
  [[nodiscard]] ConsumerGroup* find_consumer(std::string_view id);
  // In the place of the one that there may be.
  Group& put(std::unique_ptr<Group> group);
  ClassicGroup& add_classic(std::string_view id);
  bool apply_classic(Bytes key, std::optional<Bytes> value);
  bool apply_consumer(Bytes key, std::optional<Bytes> value);
  void erase(std::string_view id);
  // After a call: its deadline may be another one, and another group may stand in its place.
  void settle(Group& group);

  kafka::ErrorCode may_commit(const kafka::OffsetCommitRequest& request, const kafka::OffsetCommitResponse& judged,
                              std::int16_t version, const Moment& moment);
  // Returns why not.
  kafka::ErrorCode check_delete_offsets(const kafka::OffsetDeleteRequest& request) const;

  void expire_some(const Moment& moment, Effects& effects);
  void forget_deleted_topics(Effects& effects);

  Context context_;
  Groups groups_;
  Offsets offsets_;
  Deadlines<std::string> deadlines_;  // of groups
  bool is_loaded_ = false;

  std::optional<Instant> next_expiry_;      // of offsets, and of groups without; none: it is going on
  std::optional<std::string> expiry_from_;  // the group to go on with
  std::vector<DeletedTopic> deleted_topics_;
  std::string deletion_from_;  // the group to go on with
};

}  // namespace tailrace::groupcoord
