#include "services/groupcoord/shard.h"

#include <algorithm>
#include <utility>

#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/classic_replies.h"
#include "services/groupcoord/consumer_group.h"
#include "services/groupcoord/consumer_records.h"
#include "services/groupcoord/conversion.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/group_records.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/sync_group.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;
using kafka::GroupRecordType;

constexpr std::int16_t kGroupIdNotFoundKnown = 9;  // OffsetCommit's first version of KIP-848

bool has_any_sound(const kafka::OffsetCommitResponse& judged) {
  return std::ranges::any_of(judged.topics, [](const auto& topic) {
    return std::ranges::any_of(topic.partitions,
                               [](const auto& each) { return each.error_code == wire(ErrorCode::NONE); });
  });
}

void refuse_sound(ErrorCode error, kafka::OffsetCommitResponse& judged) {
  for (auto& topic : judged.topics) {
    for (auto& each : topic.partitions) {
      if (each.error_code == wire(ErrorCode::NONE)) each.error_code = wire(error);
    }
  }
}

}  // namespace

Shard::Shard(const Settings& settings, const Chance& chance, std::shared_ptr<const node::MetadataImage> image)
    : context_{settings, chance, std::move(image)}, offsets_(context_) {}
Shard::~Shard() = default;

// -- Groups --------------------------------------------------------------------------------------------------------

const Group* Shard::find(std::string_view group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? nullptr : found->second.get();
}

Group* Shard::find_group(std::string_view id) {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : found->second.get();
}

ClassicGroup* Shard::find_classic(std::string_view id) {
  Group* const group = find_group(id);
  if (group == nullptr || group->type() != GroupType::classic) return nullptr;
  return static_cast<ClassicGroup*>(group);
}

ConsumerGroup* Shard::find_consumer(std::string_view id) {
  Group* const group = find_group(id);
  if (group == nullptr || group->type() != GroupType::consumer || group->is_empty()) return nullptr;
  return static_cast<ConsumerGroup*>(group);
}

Group& Shard::put(std::unique_ptr<Group> group) {
  Group& made = *group;
  groups_.insert_or_assign(made.id(), std::move(group));
  return made;
}

ClassicGroup& Shard::add_classic(std::string_view id) {
  return static_cast<ClassicGroup&>(put(std::make_unique<ClassicGroup>(context_, std::string(id))));
}

void Shard::erase(std::string_view id) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  deadlines_.clear(found->first);
  groups_.erase(found);
}

void Shard::settle(Group& group) {
  std::unique_ptr<Group> successor = group.take_successor();
  const Group& now = successor != nullptr ? put(std::move(successor)) : group;
  if (const std::optional<Instant> due = now.next_deadline()) {
    deadlines_.set(now.id(), *due);
  } else {
    deadlines_.clear(now.id());
  }
}

// -- Loading -------------------------------------------------------------------------------------------------------

bool Shard::apply(Bytes key, std::optional<Bytes> value, ProducerId producer_id) {
  const auto type = kafka::group_record_type(key);
  if (!type) return false;
  switch (*type) {
    case GroupRecordType::legacy_offset_commit:
    case GroupRecordType::offset_commit: {
      const Offsets::Applied applied = offsets_.apply(key, value, producer_id);
      // Who commits without being a member of anything is a group of its own.
      if (applied.committer && find(*applied.committer) == nullptr) add_classic(*applied.committer);
      return applied.is_readable;
    }
    case GroupRecordType::group_metadata:
      return apply_classic(key, value);
    default:
      return apply_consumer(key, value);
  }
}

bool Shard::apply_classic(Bytes key, std::optional<Bytes> value) {
  const auto id = kafka::decode_group_key<kafka::GroupMetadataKey>(key);
  if (!id) return false;
  if (!value) {
    erase(id->group);
    return true;
  }
  const auto loaded = kafka::decode_group_value<kafka::GroupMetadataValue>(*value);
  if (!loaded) return false;
  auto group = std::make_unique<ClassicGroup>(context_, std::string(id->group));
  if (!group->load(*loaded)) return false;
  put(std::move(group));
  return true;
}

bool Shard::apply_consumer(Bytes key, std::optional<Bytes> value) {
  const std::optional<std::string_view> id = consumer_group_of(key);
  if (!id) return false;
  Group* const group = find_group(*id);
  if (group != nullptr && group->type() == GroupType::consumer) {
    const ConsumerGroup::Fold fold = static_cast<ConsumerGroup*>(group)->apply(key, value);
    if (fold == ConsumerGroup::Fold::gone) erase(*id);
    return fold != ConsumerGroup::Fold::passed_over;
  }
  if (!value) return true;  // of a consumer group that there is not
  auto made = std::make_unique<ConsumerGroup>(context_, std::string(*id));
  if (made->apply(key, value) == ConsumerGroup::Fold::passed_over) return false;
  put(std::move(made));
  return true;
}

Effects Shard::on_loaded(const Moment& moment) {
  Effects effects;
  is_loaded_ = true;
  // A log may say that a group has ended and keep what it has committed: nobody but a group makes that expire.
  for (const auto& [id, topics] : offsets_.groups()) {
    if (find(id) == nullptr) add_classic(id);
  }
  for (const auto& [id, group] : groups_) {
    if (group->type() == GroupType::classic) {
      static_cast<ClassicGroup&>(*group).on_loaded(moment, effects);
    } else {
      static_cast<ConsumerGroup&>(*group).on_loaded(moment);
    }
    settle(*group);
  }
  next_expiry_ = moment.now + context_.settings.offsets_retention_check;
  forget_deleted_topics(effects);
  return effects;
}

// -- Classic groups ------------------------------------------------------------------------------------------------

Effects Shard::join(const Call& call, const Client& client, const kafka::JoinGroupRequest& request,
                    const Moment& moment) {
  Effects effects;
  if (const ErrorCode error = check_join(request, context_.settings); error != ErrorCode::NONE) {
    refuse_join(call, request.member_id, error, effects);
    return effects;
  }
  if (ConsumerGroup* const consumer = find_consumer(request.group_id); consumer != nullptr) {
    consumer->join(call, client, request, moment, effects);
    settle(*consumer);
    return effects;
  }
  ClassicGroup* classic = find_classic(request.group_id);
  if (classic == nullptr) {
    if (!request.member_id.empty()) {
      refuse_join(call, request.member_id, ErrorCode::UNKNOWN_MEMBER_ID, effects);
      return effects;
    }
    // A consumer group that nobody is in ends.
    if (const Group* const empty = find(request.group_id); empty != nullptr) empty->append_tombstones(effects);
    erase(request.group_id);
    classic = &add_classic(request.group_id);
    classic->create(moment, effects);
  }
  classic->join(call, client, request, moment, effects);
  settle(*classic);
  return effects;
}

Effects Shard::sync(const Call& call, const kafka::SyncGroupRequest& request, const Moment& moment) {
  Effects effects;
  if (const ErrorCode error = check_sync(request, call.api_version); error != ErrorCode::NONE) {
    refuse_sync(call, error, effects);
  } else if (ClassicGroup* const classic = find_classic(request.group_id); classic != nullptr) {
    classic->sync(call, request, moment, effects);
    settle(*classic);
  } else if (ConsumerGroup* const consumer = find_consumer(request.group_id); consumer != nullptr) {
    consumer->sync(call, request, moment, effects);
    settle(*consumer);
  } else {
    refuse_sync(call, ErrorCode::UNKNOWN_MEMBER_ID, effects);
  }
  return effects;
}

Effects Shard::heartbeat(const Call& call, const kafka::HeartbeatRequest& request, const Moment& moment) {
  Effects effects;
  if (request.group_id.empty()) {
    answer_heartbeat(call, ErrorCode::INVALID_GROUP_ID, effects);
  } else if (ClassicGroup* const classic = find_classic(request.group_id); classic != nullptr) {
    classic->heartbeat(call, request, moment, effects);
    settle(*classic);
  } else if (ConsumerGroup* const consumer = find_consumer(request.group_id); consumer != nullptr) {
    consumer->classic_heartbeat(call, request, moment, effects);
    settle(*consumer);
  } else {
    answer_heartbeat(call, ErrorCode::UNKNOWN_MEMBER_ID, effects);
  }
  return effects;
}

Effects Shard::leave(const Call& call, const kafka::LeaveGroupRequest& request, const Moment& moment) {
  Effects effects;
  if (request.group_id.empty()) {
    refuse_leave(call, ErrorCode::INVALID_GROUP_ID, effects);
  } else if (ClassicGroup* const classic = find_classic(request.group_id); classic != nullptr) {
    classic->leave(call, request, moment, effects);
    settle(*classic);
  } else if (ConsumerGroup* const consumer = find_consumer(request.group_id); consumer != nullptr) {
    consumer->leave(call, request, moment, effects);
    settle(*consumer);
  } else {
    refuse_leave_of_unknown(call, request, effects);
  }
  return effects;
}

// -- Consumer groups -----------------------------------------------------------------------------------------------

Effects Shard::consumer_heartbeat(const Call& call, const Client& client,
                                  const kafka::ConsumerGroupHeartbeatRequest& request, const Moment& moment) {
  Effects effects;
  if (!context_.settings.serves_consumer_protocol) {
    kafka::ConsumerGroupHeartbeatResponse response;
    response.error_code = wire(ErrorCode::UNSUPPORTED_VERSION);
    effects.reply(call, response);
    return effects;
  }
  if (auto refusal = ConsumerGroup::refuse(request, call.api_version, context_.settings)) {
    ConsumerGroup::answer(call, *refusal, effects);
    return effects;
  }
  Group* const group = find_group(request.group_id);
  if (group != nullptr && group->type() == GroupType::consumer) {
    static_cast<ConsumerGroup*>(group)->heartbeat(call, client, request, moment, effects);
    settle(*group);
    return effects;
  }
  const bool joins = request.member_epoch == 0;
  if (!joins) {
    ConsumerGroup::answer(
        call, group == nullptr ? ConsumerGroup::no_group(request) : not_a_consumer_group(request.group_id), effects);
    return effects;
  }
  std::unique_ptr<ConsumerGroup> made;
  if (ClassicGroup* const classic = find_classic(request.group_id); classic != nullptr) {
    auto upgraded = upgrade(*classic, context_, request, moment, effects);
    if (!upgraded) {
      ConsumerGroup::answer(call, upgraded.error(), effects);
      return effects;
    }
    made = *std::move(upgraded);
  } else {
    made = std::make_unique<ConsumerGroup>(context_, std::string(request.group_id));
  }
  made->heartbeat(call, client, request, moment, effects);
  if (!effects.records.empty()) settle(put(std::move(made)));  // else it was refused, and there is no group
  return effects;
}

// -- Offsets -------------------------------------------------------------------------------------------------------

Effects Shard::commit(const Call& call, const kafka::OffsetCommitRequest& request, const Moment& moment) {
  Effects effects;
  kafka::OffsetCommitResponse response = offsets_.judge(request, call.api_version);
  if (has_any_sound(response)) {
    const ErrorCode error = may_commit(request, response, call.api_version, moment);
    if (error != ErrorCode::NONE) {
      refuse_sound(error, response);
    } else {
      offsets_.commit(request, moment, response, effects);
      if (!effects.records.empty() && find(request.group_id) == nullptr) add_classic(request.group_id);
    }
    if (Group* const group = find_group(request.group_id); group != nullptr) settle(*group);
  }
  effects.reply(call, response);
  return effects;
}

ErrorCode Shard::may_commit(const kafka::OffsetCommitRequest& request, const kafka::OffsetCommitResponse& judged,
                            std::int16_t version, const Moment& moment) {
  Group* const group = find_group(request.group_id);
  if (group == nullptr) {
    if (request.generation_id_or_member_epoch < 0) return ErrorCode::NONE;
    return version >= kGroupIdNotFoundKnown ? ErrorCode::GROUP_ID_NOT_FOUND : ErrorCode::ILLEGAL_GENERATION;
  }
  const Committer who{.member_id = request.member_id,
                      .instance_id = request.group_instance_id,
                      .generation = request.generation_id_or_member_epoch,
                      .api_version = version};
  if (const ErrorCode error = group->on_commit(who, moment); error != ErrorCode::NONE) return error;
  for (const auto& topic : judged.topics) {
    for (const auto& each : topic.partitions) {
      if (each.error_code != wire(ErrorCode::NONE)) continue;
      const ErrorCode error = group->check_commit(who, topic.topic_id, each.partition_index);
      if (error != ErrorCode::NONE) return error;
    }
  }
  return ErrorCode::NONE;
}

Effects Shard::delete_offsets(const Call& call, const kafka::OffsetDeleteRequest& request, const Moment& /*moment*/) {
  Effects effects;
  kafka::OffsetDeleteResponse response;
  const ErrorCode error = check_delete_offsets(request);
  response.error_code = wire(error);
  if (error == ErrorCode::NONE) offsets_.remove(request, *find(request.group_id), response, effects);
  effects.reply(call, response);
  return effects;
}

ErrorCode Shard::check_delete_offsets(const kafka::OffsetDeleteRequest& request) const {
  if (request.group_id.empty()) return ErrorCode::INVALID_GROUP_ID;
  const Group* const group = find(request.group_id);
  if (group == nullptr) return ErrorCode::GROUP_ID_NOT_FOUND;
  // What the members of a group with a protocol of its own read is not known.
  const bool is_foreign = group->type() == GroupType::classic && group->protocol_type() != "consumer";
  return is_foreign && !group->is_empty() ? ErrorCode::NON_EMPTY_GROUP : ErrorCode::NONE;
}

ErrorCode Shard::delete_group(std::string_view id, Effects& effects) {
  const Group* const group = find(id);
  if (group == nullptr) return ErrorCode::GROUP_ID_NOT_FOUND;
  if (const ErrorCode error = group->check_delete(); error != ErrorCode::NONE) return error;
  offsets_.remove_all(id, effects);
  group->append_tombstones(effects);
  erase(id);
  return ErrorCode::NONE;
}

// -- Time ----------------------------------------------------------------------------------------------------------

std::optional<Instant> Shard::next_deadline() const {
  if (expiry_from_ || (is_loaded_ && !deleted_topics_.empty())) return Instant{};  // the next step
  std::optional<Instant> next = deadlines_.next();
  if (next_expiry_ && (!next || *next_expiry_ < *next)) next = next_expiry_;
  return next;
}

Effects Shard::on_time(const Moment& moment) {
  Effects effects;
  for (const std::string& id : deadlines_.take_due(moment.now)) {
    Group* const group = find_group(id);
    if (group == nullptr) continue;
    group->on_time(moment, effects);
    settle(*group);
  }
  forget_deleted_topics(effects);
  if (next_expiry_ && *next_expiry_ <= moment.now) {
    next_expiry_.reset();
    expiry_from_ = "";
  }
  if (expiry_from_) expire_some(moment, effects);
  return effects;
}

void Shard::expire_some(const Moment& moment, Effects& effects) {
  const std::size_t records_max = effects.records.size() + kStepRecordsMax;
  std::size_t looked_at = 0;
  auto at = groups_.lower_bound(*expiry_from_);
  for (; at != groups_.end() && looked_at < kStepGroupsMax; ++looked_at) {
    const Group& group = *at->second;
    const bool has_none = offsets_.expire(group, moment, records_max, effects);
    if (effects.records.size() >= records_max) break;  // it may have more
    if (has_none && group.is_empty()) {
      group.append_tombstones(effects);
      deadlines_.clear(at->first);
      at = groups_.erase(at);
    } else {
      ++at;
    }
  }
  if (at != groups_.end()) {
    expiry_from_ = at->first;
    return;
  }
  expiry_from_.reset();
  next_expiry_ = moment.now + context_.settings.offsets_retention_check;
}

// -- The cluster ---------------------------------------------------------------------------------------------------

Effects Shard::on_image(std::shared_ptr<const node::MetadataImage> image, const ImageChange& change) {
  Effects effects;
  // What the change borrows is in both.
  const std::shared_ptr<const node::MetadataImage> before = std::exchange(context_.image, std::move(image));
  for (const auto& [id, group] : groups_) {
    if (group->type() == GroupType::consumer) static_cast<ConsumerGroup&>(*group).on_image(change);
  }
  if (!change.deleted_topics.empty()) {
    std::ranges::copy(change.deleted_topics, std::back_inserter(deleted_topics_));
    deletion_from_.clear();  // for the new ones all groups have to be looked at
  }
  forget_deleted_topics(effects);
  return effects;
}

// While the log is read they wait: what stands further behind may be of them, too.
void Shard::forget_deleted_topics(Effects& effects) {
  if (!is_loaded_ || deleted_topics_.empty()) return;
  auto next =
      offsets_.remove_topics(deleted_topics_, deletion_from_, effects.records.size() + kStepRecordsMax, effects);
  if (next) {
    deletion_from_ = *std::move(next);
    return;
  }
  deleted_topics_.clear();
  deletion_from_.clear();
}

}  // namespace tailrace::groupcoord
