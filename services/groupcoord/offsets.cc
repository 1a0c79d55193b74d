#include "services/groupcoord/offsets.h"

#include <algorithm>
#include <limits>

#include "engine/base/check.h"
#include "services/groupcoord/image_change.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/errors.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/group_records.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;
using kafka::OffsetCommitKey;
using kafka::OffsetCommitValue;

constexpr std::int32_t kPartitionMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int16_t kTopicsById = 10;  // OffsetCommit's first version with ids of topics in place of names

std::vector<std::byte> copy(const kafka::Buffer& buffer) { return {buffer.data(), buffer.data() + buffer.size()}; }

Record record_of(const OffsetCommitKey& key, const OffsetCommitValue* value, std::int16_t version) {
  Record record;
  kafka::Buffer buffer;
  CHECK(kafka::encode_group_key(key, buffer));  // all strings came by Kafka's protocol, whose longest is ours, too
  record.key = copy(buffer);
  if (value != nullptr) {
    buffer.clear();
    CHECK(kafka::encode_group_value(*value, version, buffer));
    record.value = copy(buffer);
  }
  return record;
}

CommittedOffset committed_from(std::int32_t partition, const OffsetCommitValue& value, std::uint64_t order) {
  return {.partition = partition,
          .leader_epoch = value.leader_epoch,
          .offset = value.offset,
          .committed_ms = value.commit_timestamp,
          .expires_ms = value.expire_timestamp,
          .order = order,
          .topic_id = value.topic_id,
          .metadata = SmallText(value.metadata)};
}

// Kafka measures metadata in chars of Java: UTF-16 code units.
std::size_t utf16_size(std::string_view text) {
  std::size_t size = 0;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if ((byte & 0xC0) != 0x80) size += byte >= 0xF0 ? 2 : 1;
  }
  return size;
}

TimestampMs expiry(std::int64_t retention_time_ms, TimestampMs now_ms) {
  if (retention_time_ms == -1) return kNoTimestamp;
  TimestampMs at = 0;
  if (__builtin_add_overflow(now_ms, retention_time_ms, &at)) return std::numeric_limits<TimestampMs>::max();
  return at;
}

// In bytes, an upper bound: 40 for numbers and lengths in key and value, 24 for those of the record around them.
std::size_t records_size(const kafka::OffsetCommitRequest& request, const kafka::OffsetCommitResponse& judged) {
  std::size_t size = 0;
  for (std::size_t t = 0; t < request.topics.size(); ++t) {
    for (std::size_t p = 0; p < request.topics[t].partitions.size(); ++p) {
      if (judged.topics[t].partitions[p].error_code != wire(ErrorCode::NONE)) continue;
      const auto& metadata = request.topics[t].partitions[p].committed_metadata;
      size += 64 + request.group_id.size() + judged.topics[t].name.size() + (metadata ? metadata->size() : 0);
    }
  }
  return size;
}

bool is_of(const CommittedOffset& committed, const DeletedTopic& topic) {
  return committed.topic_id.is_zero() || committed.topic_id == topic.id;
}

}  // namespace

// -- The fold ------------------------------------------------------------------------------------------------------

Offsets::Applied Offsets::apply(Bytes key, std::optional<Bytes> value, ProducerId producer_id) {
  Result<OffsetCommitKey> decoded_key = kafka::decode_group_key<OffsetCommitKey>(key);
  if (!decoded_key) {
    // Type 0 says the same; brokers of long ago wrote it.
    const auto legacy = kafka::decode_group_key<kafka::LegacyOffsetCommitKey>(key);
    if (!legacy) return {};
    decoded_key = OffsetCommitKey{.group = legacy->group, .topic = legacy->topic, .partition = legacy->partition};
  }
  if (!value) {
    fold(*decoded_key, nullptr, producer_id);
    return {.is_readable = true};
  }
  const auto decoded_value = kafka::decode_group_value<OffsetCommitValue>(*value);
  if (!decoded_value) return {};
  fold(*decoded_key, &*decoded_value, producer_id);
  return {.is_readable = true, .committer = decoded_key->group};
}

void Offsets::fold(const OffsetCommitKey& key, const OffsetCommitValue* value, ProducerId producer_id) {
  ++order_;
  if (value == nullptr) return erase(key);
  CommittedOffset committed = committed_from(key.partition, *value, order_);
  if (producer_id == kNoProducerId) return put(key.group, key.topic, std::move(committed));
  put_open(key, producer_id, std::move(committed));
}

void Offsets::put(std::string_view group, std::string_view topic, CommittedOffset committed) {
  auto topics = committed_.find(group);
  if (topics == committed_.end()) topics = committed_.emplace(group, Topics{}).first;
  auto partitions = topics->second.find(topic);
  if (partitions == topics->second.end()) partitions = topics->second.emplace(topic, PartitionOffsets{}).first;
  partitions->second.put(std::move(committed));
}

void Offsets::put_open(const OffsetCommitKey& key, ProducerId producer_id, CommittedOffset committed) {
  auto place = open_.find(PlaceView{key.group, key.topic, key.partition});
  if (place == open_.end()) {
    place =
        open_.emplace(Place{std::string(key.group), std::string(key.topic), key.partition}, std::vector<OpenCommit>{})
            .first;
  }
  std::vector<OpenCommit>& commits = place->second;
  const auto own = std::ranges::find(commits, producer_id, &OpenCommit::producer_id);
  if (own != commits.end()) {
    own->committed = std::move(committed);
    return;
  }
  commits.push_back({producer_id, std::move(committed)});
  places_[producer_id].push_back(place->first);
}

void Offsets::erase(const OffsetCommitKey& key) {
  if (const auto open = open_.find(PlaceView{key.group, key.topic, key.partition}); open != open_.end()) {
    open_.erase(open);
  }
  const auto topics = committed_.find(key.group);
  if (topics == committed_.end()) return;
  const auto partitions = topics->second.find(key.topic);
  if (partitions == topics->second.end()) return;
  partitions->second.erase(key.partition);
  if (partitions->second.empty()) topics->second.erase(partitions);
  if (topics->second.empty()) committed_.erase(topics);
}

void Offsets::end_transaction(ProducerId producer_id, bool is_committed) {
  const auto found = places_.find(producer_id);
  if (found == places_.end()) return;
  const std::vector<Place> places = std::move(found->second);
  places_.erase(found);
  for (const Place& place : places) {
    const auto open = open_.find(place);
    if (open == open_.end()) continue;  // a tombstone took it
    const auto own = std::ranges::find(open->second, producer_id, &OpenCommit::producer_id);
    if (own == open->second.end()) continue;
    CommittedOffset committed = std::move(own->committed);
    open->second.erase(own);
    if (open->second.empty()) open_.erase(open);
    if (!is_committed) continue;
    const CommittedOffset* const now = find(place.group, place.topic, place.partition);
    if (now == nullptr || now->order < committed.order) put(place.group, place.topic, std::move(committed));
  }
}

// -- Commits -------------------------------------------------------------------------------------------------------

kafka::OffsetCommitResponse Offsets::judge(const kafka::OffsetCommitRequest& request, std::int16_t version) const {
  kafka::OffsetCommitResponse judged;
  judged.topics.reserve(request.topics.size());
  for (const auto& topic : request.topics) {
    const bool is_by_id = version >= kTopicsById;
    const node::TopicImage* const known =
        is_by_id ? context_.image->find(topic.topic_id) : context_.image->find(topic.name);
    auto& answer = judged.topics.emplace_back();
    answer.name = known != nullptr ? std::string_view(known->name) : topic.name;
    answer.topic_id = known != nullptr ? known->id : topic.topic_id;
    answer.partitions.reserve(topic.partitions.size());
    for (const auto& partition : topic.partitions) {
      ErrorCode error = ErrorCode::NONE;
      if (known == nullptr && is_by_id) {
        error = ErrorCode::UNKNOWN_TOPIC_ID;
      } else if (known == nullptr || known->find(partition.partition_index) == nullptr) {
        error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      }
      answer.partitions.push_back({.partition_index = partition.partition_index, .error_code = wire(error)});
    }
  }
  return judged;
}

void Offsets::commit(const kafka::OffsetCommitRequest& request, const Moment& moment,
                     kafka::OffsetCommitResponse& judged, Effects& effects) {
  const TimestampMs expires_ms = expiry(request.retention_time_ms, moment.wall_ms);
  const bool expires = expires_ms != kNoTimestamp;
  const auto metadata_size_max = static_cast<std::size_t>(std::max(context_.settings.metadata_size_max, 0));
  const bool is_too_large = records_size(request, judged) > kCommitBytesMax;
  for (std::size_t t = 0; t < request.topics.size(); ++t) {
    auto& topic = judged.topics[t];
    for (std::size_t p = 0; p < topic.partitions.size(); ++p) {
      const auto& wanted = request.topics[t].partitions[p];
      if (topic.partitions[p].error_code != wire(ErrorCode::NONE)) continue;
      const std::string_view metadata = wanted.committed_metadata.value_or("");
      if (utf16_size(metadata) > metadata_size_max) {
        topic.partitions[p].error_code = wire(ErrorCode::OFFSET_METADATA_TOO_LARGE);
        continue;
      }
      if (is_too_large) {
        topic.partitions[p].error_code = wire(ErrorCode::UNKNOWN_SERVER_ERROR);
        continue;
      }
      const OffsetCommitKey key{.group = request.group_id, .topic = topic.name, .partition = wanted.partition_index};
      OffsetCommitValue value{.offset = wanted.committed_offset,
                              .metadata = metadata,
                              .commit_timestamp = moment.wall_ms,
                              .expire_timestamp = expires_ms};
      // The version with an expiry has room for nothing else: what the record does not keep is not known afterwards.
      if (!expires) {
        value.leader_epoch = wanted.committed_leader_epoch;
        value.topic_id = topic.topic_id;
      }
      effects.records.push_back(record_of(
          key, &value, expires ? kafka::kExpiringOffsetCommitValueVersion : kafka::kOffsetCommitValueVersion));
      fold(key, &value, kNoProducerId);
    }
  }
}

// -- Removal -------------------------------------------------------------------------------------------------------

void Offsets::forget(std::string_view group, std::string_view topic, std::int32_t partition, Effects& effects) {
  const OffsetCommitKey key{.group = group, .topic = topic, .partition = partition};
  effects.records.push_back(record_of(key, nullptr, 0));
  fold(key, nullptr, kNoProducerId);
}

void Offsets::remove(const kafka::OffsetDeleteRequest& request, const Group& group,
                     kafka::OffsetDeleteResponse& response, Effects& effects) {
  for (const auto& topic : request.topics) {
    if (topic.partitions.empty()) continue;
    const node::TopicImage* const known = context_.image->find(topic.name);
    const bool is_in_use = group.is_subscribed_to(topic.name);
    auto& answer = response.topics.emplace_back();
    answer.name = topic.name;
    answer.partitions.reserve(topic.partitions.size());
    for (const auto& partition : topic.partitions) {
      const std::int32_t number = partition.partition_index;
      ErrorCode error = ErrorCode::NONE;
      if (known == nullptr || known->find(number) == nullptr) {
        error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      } else if (is_in_use) {
        error = ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC;
      } else if (find(group.id(), topic.name, number) != nullptr || is_unstable(group.id(), topic.name, number)) {
        forget(group.id(), topic.name, number, effects);
      }
      answer.partitions.push_back({.partition_index = number, .error_code = wire(error)});
    }
  }
}

void Offsets::remove_all(std::string_view group, Effects& effects) {
  std::vector<Place> places;
  if (const Topics* const topics = find(group); topics != nullptr) {
    for (const auto& [topic, partitions] : *topics) {
      partitions.for_each(
          [&](const CommittedOffset& each) { places.push_back({std::string(group), topic, each.partition}); });
    }
  }
  for (auto at = open_.lower_bound(PlaceView{group, {}, kPartitionMin}); at != open_.end(); ++at) {
    if (at->first.group != group) break;
    if (find(group, at->first.topic, at->first.partition) == nullptr) places.push_back(at->first);
  }
  for (const Place& each : places) forget(each.group, each.topic, each.partition, effects);
}

bool Offsets::expire(const Group& group, const Moment& moment, std::size_t records_max, Effects& effects) {
  const Topics* const topics = find(group.id());
  if (topics == nullptr) return !has_open(group.id());
  if (!group.unused_since(moment.wall_ms)) return false;
  const TimestampMs unused_before_ms = moment.wall_ms - context_.settings.offsets_retention_ms;
  const auto is_expired = [&](const CommittedOffset& committed) {
    if (committed.expires_ms != kNoTimestamp) return moment.wall_ms >= committed.expires_ms;
    const std::optional<TimestampMs> since = group.unused_since(committed.committed_ms);
    return since && *since <= unused_before_ms;
  };
  std::vector<std::pair<std::string, std::int32_t>> expired;
  const std::size_t room = records_max - std::min(records_max, effects.records.size());
  for (const auto& [topic, partitions] : *topics) {
    if (expired.size() >= room) break;
    if (group.is_subscribed_to(topic)) continue;
    partitions.for_each([&](const CommittedOffset& each) {
      if (expired.size() >= room || !is_expired(each)) return;
      if (!is_unstable(group.id(), topic, each.partition)) expired.emplace_back(topic, each.partition);
    });
  }
  for (const auto& [topic, partition] : expired) forget(group.id(), topic, partition, effects);
  return !has_any(group.id());
}

void Offsets::forget_topic(std::string_view group, const DeletedTopic& topic, std::size_t records_max,
                           Effects& effects) {
  std::vector<std::int32_t> gone;
  if (const Topics* const topics = find(group); topics != nullptr) {
    if (const auto partitions = topics->find(topic.name); partitions != topics->end()) {
      partitions->second.for_each([&](const CommittedOffset& each) {
        if (is_of(each, topic)) gone.push_back(each.partition);
      });
    }
  }
  for (auto at = open_.lower_bound(PlaceView{group, topic.name, kPartitionMin}); at != open_.end(); ++at) {
    if (at->first.group != group || at->first.topic != topic.name) break;
    const bool is_gone =
        std::ranges::any_of(at->second, [&](const OpenCommit& each) { return is_of(each.committed, topic); });
    if (is_gone) gone.push_back(at->first.partition);
  }
  std::ranges::sort(gone);
  gone.erase(std::ranges::unique(gone).begin(), gone.end());
  for (const std::int32_t partition : gone) {
    if (effects.records.size() >= records_max) return;
    forget(group, topic.name, partition, effects);
  }
}

std::optional<std::string> Offsets::remove_topics(const std::vector<DeletedTopic>& topics, std::string_view from,
                                                  std::size_t records_max, Effects& effects) {
  // Groups have committed offsets, open ones or both: both maps are gone through side by side.
  std::string group(from);
  for (;;) {
    const auto committed = committed_.lower_bound(group);
    const auto open = open_.lower_bound(PlaceView{group, {}, kPartitionMin});
    if (committed == committed_.end() && open == open_.end()) return std::nullopt;
    if (committed == committed_.end() || (open != open_.end() && open->first.group < committed->first)) {
      group = open->first.group;
    } else {
      group = committed->first;
    }
    for (const DeletedTopic& topic : topics) forget_topic(group, topic, records_max, effects);
    if (effects.records.size() >= records_max) return group;  // it may have more
    group.push_back('\0');                                    // the least text behind it
  }
}

// -- Reading -------------------------------------------------------------------------------------------------------

const Offsets::Topics* Offsets::find(std::string_view group) const {
  const auto found = committed_.find(group);
  return found == committed_.end() ? nullptr : &found->second;
}

const CommittedOffset* Offsets::find(std::string_view group, std::string_view topic, std::int32_t partition) const {
  const Topics* const topics = find(group);
  if (topics == nullptr) return nullptr;
  const auto found = topics->find(topic);
  return found == topics->end() ? nullptr : found->second.find(partition);
}

bool Offsets::is_unstable(std::string_view group, std::string_view topic, std::int32_t partition) const {
  return !open_.empty() && open_.contains(PlaceView{group, topic, partition});
}

bool Offsets::has_open(std::string_view group) const {
  const auto first = open_.lower_bound(PlaceView{group, {}, kPartitionMin});
  return first != open_.end() && first->first.group == group;
}

}  // namespace tailrace::groupcoord
