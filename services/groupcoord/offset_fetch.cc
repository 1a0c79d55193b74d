#include "services/groupcoord/offset_fetch.h"

#include <optional>
#include <string_view>
#include <utility>

#include "services/groupcoord/shard.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;
using kafka::OffsetFetchResponse;
using Topic = OffsetFetchResponse::OffsetFetchResponseTopics;
using Partition = OffsetFetchResponse::OffsetFetchResponsePartitions;
using WantedTopic = kafka::OffsetFetchRequest::OffsetFetchRequestTopics;

constexpr std::int16_t kSeveralGroups = 8;
constexpr std::int16_t kTopicsById = 10;
constexpr std::int16_t kGroupErrors = 2;

Partition nothing(std::int32_t partition, ErrorCode error) {
  return {.partition_index = partition, .committed_offset = kNoOffset, .error_code = wire(error)};
}

Partition answer_of(const CommittedOffset& committed) {
  return {.partition_index = committed.partition,
          .committed_offset = committed.offset,
          .committed_leader_epoch = committed.leader_epoch,
          .metadata = committed.metadata.view()};
}

// What was committed for a topic of the same name that is gone does not count.
bool is_of(const CommittedOffset& committed, const Uuid& topic_id) {
  return committed.topic_id.is_zero() || topic_id.is_zero() || committed.topic_id == topic_id;
}

bool take(AnswerRoom& room, const Partition& partition) {
  return room.take(sizeof partition + partition.metadata->size());
}

struct Fetch {
  const Offsets& offsets;
  std::string_view group;
  bool require_stable;
  AnswerRoom& room;

  [[nodiscard]] bool is_unstable(std::string_view topic, std::int32_t partition) const {
    return require_stable && offsets.is_unstable(group, topic, partition);
  }

  // False: too large.
  bool add_named(const WantedTopic& wanted, Topic& answer) const {
    for (const std::int32_t each : wanted.partition_indexes) {
      Partition partition = nothing(each, ErrorCode::NONE);
      if (is_unstable(wanted.name, each)) {
        partition.error_code = wire(ErrorCode::UNSTABLE_OFFSET_COMMIT);
      } else if (const CommittedOffset* const found = offsets.find(group, wanted.name, each);
                 found != nullptr && is_of(*found, wanted.topic_id)) {
        partition = answer_of(*found);
      }
      if (!take(room, partition)) return false;
      answer.partitions.push_back(partition);
    }
    return true;
  }

  bool add_all(std::string_view topic, const PartitionOffsets& committed, Topic& answer) const {
    bool fits = true;
    committed.for_each([&](const CommittedOffset& each) {
      const Partition partition = is_unstable(topic, each.partition)
                                      ? nothing(each.partition, ErrorCode::UNSTABLE_OFFSET_COMMIT)
                                      : answer_of(each);
      fits = fits && take(room, partition);
      if (fits) answer.partitions.push_back(partition);
    });
    return fits;
  }
};

bool refuse_topic(const WantedTopic& wanted, ErrorCode error, AnswerRoom& room, Topic& answer) {
  for (const std::int32_t each : wanted.partition_indexes) {
    const Partition partition = nothing(each, error);
    if (!take(room, partition)) return false;
    answer.partitions.push_back(partition);
  }
  return true;
}

}  // namespace

std::vector<WantedOffsets> wanted_offsets(const kafka::OffsetFetchRequest& request, std::int16_t version) {
  if (version >= kSeveralGroups) return request.groups;
  WantedOffsets group{.group_id = request.group_id, .topics = std::nullopt};
  if (request.topics) {
    group.topics.emplace();
    for (const auto& topic : *request.topics) {
      group.topics->push_back({.name = topic.name, .partition_indexes = topic.partition_indexes});
    }
  }
  return {std::move(group)};
}

FetchedGroup fetch_offsets(const Shard& shard, const WantedOffsets& wanted, bool require_stable, std::int16_t version,
                           AnswerRoom& room) {
  FetchedGroup answer{.group_id = wanted.group_id};
  const Group* const group = shard.find(wanted.group_id);
  if (group != nullptr) {
    const ErrorCode error = group->check_fetch(wanted.member_id, wanted.member_epoch);
    if (error != ErrorCode::NONE) return refuse_fetch(wanted, error, version);
  }
  const node::MetadataImage& image = shard.image();
  const Fetch fetch{shard.offsets(), wanted.group_id, require_stable, room};
  bool fits = true;
  if (wanted.topics) {
    for (WantedTopic topic : *wanted.topics) {
      Topic& added = answer.topics.emplace_back();
      if (version >= kTopicsById) {
        const node::TopicImage* const known = image.find(topic.topic_id);
        topic.name = known != nullptr ? std::string_view(known->name) : std::string_view();
      }
      added.name = topic.name;
      added.topic_id = topic.topic_id;
      const bool is_unknown = version >= kTopicsById && topic.name.empty();
      fits = room.take(sizeof topic) && (is_unknown ? refuse_topic(topic, ErrorCode::UNKNOWN_TOPIC_ID, room, added)
                                                    : fetch.add_named(topic, added));
      if (!fits) return refuse_fetch(wanted, ErrorCode::INVALID_REQUEST, kGroupErrors);
    }
    return answer;
  }
  const Offsets::Topics* const topics = shard.offsets().find(wanted.group_id);
  if (topics == nullptr) return answer;
  for (const auto& [name, partitions] : *topics) {
    const node::TopicImage* const known = image.find(name);
    if (version >= kTopicsById && (known == nullptr || known->id.is_zero()))
      continue;  // it has no name to be called by
    Topic& added = answer.topics.emplace_back();
    added.name = name;
    if (known != nullptr) added.topic_id = known->id;
    fits = room.take(sizeof added + name.size()) && fetch.add_all(name, partitions, added);
    if (!fits) return refuse_fetch(wanted, ErrorCode::INVALID_REQUEST, kGroupErrors);
  }
  return answer;
}

FetchedGroup refuse_fetch(const WantedOffsets& wanted, ErrorCode error, std::int16_t version) {
  FetchedGroup answer{.group_id = wanted.group_id};
  if (version >= kGroupErrors || !wanted.topics) {
    answer.error_code = wire(error);
    return answer;
  }
  AnswerRoom room;
  for (const WantedTopic& topic : *wanted.topics) {
    Topic& added = answer.topics.emplace_back();
    added.name = topic.name;
    if (!refuse_topic(topic, error, room, added)) break;
  }
  return answer;
}

OffsetFetchResponse fetch_response(std::vector<FetchedGroup> groups, std::int16_t version) {
  OffsetFetchResponse response;
  if (version >= kSeveralGroups) {
    response.groups = std::move(groups);
    return response;
  }
  if (groups.empty()) return response;
  response.error_code = groups[0].error_code;
  for (const Topic& topic : groups[0].topics) {
    auto& added = response.topics.emplace_back();
    added.name = topic.name;
    added.partitions.reserve(topic.partitions.size());
    for (const Partition& each : topic.partitions) {
      added.partitions.push_back({.partition_index = each.partition_index,
                                  .committed_offset = each.committed_offset,
                                  .committed_leader_epoch = each.committed_leader_epoch,
                                  .metadata = each.metadata,
                                  .error_code = each.error_code});
    }
  }
  return response;
}

}  // namespace tailrace::groupcoord
