// Group: what all parts that deal with groups ask of one, whatever its protocol: a classic group (classic_group.h), or
// a consumer group of KIP-848 (consumer_group.h). A group that only has committed offsets is a classic one without a
// protocol. Kafka: org.apache.kafka.coordinator.group.Group. PURE.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "services/groupcoord/effects.h"
#include "services/kafka/errors.h"

namespace tailrace::node {
class MetadataImage;
}

namespace tailrace::groupcoord {

struct Settings;

// What every group of a shard may use. Lives as long as the shard.
struct Context {
  const Settings& settings;
  const Chance& chance;
  std::shared_ptr<const node::MetadataImage> image;  // not null; replaced when the cluster changes
};

enum class GroupType : std::uint8_t { classic, consumer };

// As requests about offsets name the member that they are from.
struct Committer {
  std::string_view member_id{};
  std::optional<std::string_view> instance_id{};  // group.instance.id
  std::int32_t generation = -1;                   // or the member's epoch
  std::int16_t api_version = 0;
  bool is_transactional = false;
};

class Group {
 public:
  Group(Context& context, std::string id) : context_(context), id_(std::move(id)) {}
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] virtual GroupType type() const = 0;
  // As ListGroups says it: "Stable".
  [[nodiscard]] virtual std::string_view state() const = 0;
  // "consumer", "connect"; "": none.
  [[nodiscard]] virtual std::string_view protocol_type() const = 0;

  // Whether the member may commit (Group.validateOffsetCommit). A classic member that does so lives on.
  virtual kafka::ErrorCode on_commit(const Committer& who, const Moment& moment) = 0;
  // After on_commit has said NONE: whether the member may commit for this partition. A member of a consumer group whose
  // epoch is an older one may for what was assigned to it by then (CommitPartitionValidator).
  [[nodiscard]] virtual kafka::ErrorCode check_commit(const Committer& /*who*/, const Uuid& /*topic_id*/,
                                                      std::int32_t /*partition*/) const {
    return kafka::ErrorCode::NONE;
  }
  // OffsetFetch with a member's id and epoch (version 9); without one nothing is checked.
  [[nodiscard]] virtual kafka::ErrorCode check_fetch(std::optional<std::string_view> member_id,
                                                     std::int32_t member_epoch) const = 0;
  // NONE: nobody is in it, it may be deleted.
  [[nodiscard]] virtual kafka::ErrorCode check_delete() const = 0;
  [[nodiscard]] virtual bool is_subscribed_to(std::string_view topic) const = 0;
  // KIP-211: since when an offset committed at `committed_ms` counts as unused; nullopt: it is in use. Whether the
  // topic is subscribed to is asked besides.
  [[nodiscard]] virtual std::optional<TimestampMs> unused_since(TimestampMs committed_ms) const = 0;
  // Nobody is in it: without offsets there is no reason to keep it.
  [[nodiscard]] virtual bool is_empty() const = 0;
  // The tombstones that make the group gone.
  virtual void append_tombstones(Effects& effects) const = 0;

  // When on_time has something to do, or earlier; nullopt: never.
  [[nodiscard]] virtual std::optional<Instant> next_deadline() const = 0;
  virtual void on_time(const Moment& moment, Effects& effects) = 0;

  // After a request or on_time: what stands in its place from now on (KIP-848: a group may change its protocol);
  // nullptr: it stays. The effects of that call are those of both.
  virtual std::unique_ptr<Group> take_successor() { return nullptr; }

 protected:
  Context& context_;

 private:
  std::string id_;
};

}  // namespace tailrace::groupcoord
