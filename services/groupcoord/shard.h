// Shard: the groups of one partition of __consumer_offsets, and what they have committed. Its state is the fold of that
// partition's records: apply() is the one way in, whether a record was just decided on or is read after a restart.
// (A classic group's members between two generations are the exception, as in Kafka: the record holds the last
// generation only.) Requests that concern a single group go to it whole; of the others it answers its part.
//
// Whoever owns it appends the records and sends the replies afterwards. If records are lost, the shard is thrown away
// and made anew from the log. PURE.
#pragma once

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

struct GroupListing {
  std::string_view group_id;
  std::string_view protocol_type;
  std::string_view state;
  GroupType type = GroupType::classic;
};

class Shard {
 public:
  // All three outlive the shard.
  Shard(const Settings& settings, const Chance& chance, std::shared_ptr<const node::MetadataImage> image);
  ~Shard();

  // -- Loading --

  // A record of the log in its order; `producer_id` of a transactional batch. One that nobody knows is passed over, as
  // newer brokers may have written it.
  void apply(Bytes key, std::optional<Bytes> value, ProducerId producer_id);
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

  // Removes the group and its offsets, or says why not.
  kafka::ErrorCode delete_group(std::string_view group, Effects& effects);
  [[nodiscard]] std::vector<GroupListing> list() const;
  // nullptr: there is none.
  [[nodiscard]] const Group* find(std::string_view group) const;
  [[nodiscard]] const Offsets& offsets() const { return offsets_; }

  // -- The world --

  [[nodiscard]] std::optional<Instant> next_deadline() const;
  Effects on_time(const Moment& moment);
  // Topics came, went or changed: offsets of deleted ones go, consumer groups are assigned anew.
  Effects on_image(std::shared_ptr<const node::MetadataImage> image, const Moment& moment);

 private:
  Context context_;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups_;
  Offsets offsets_;
  Deadlines<std::string> deadlines_;    // of groups
  std::optional<Instant> next_expiry_;  // when offsets are looked at for their retention
};

}  // namespace tailrace::groupcoord
