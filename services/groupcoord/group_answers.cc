#include "services/groupcoord/group_answers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/consumer_group.h"
#include "services/groupcoord/settings.h"
#include "services/groupcoord/shard.h"
#include "services/kafka/errors.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;

constexpr std::int16_t kUnknownIsAnError = 6;

// Without an authorizer everybody may do all that a group knows: bits of AclOperation (KIP-430).
constexpr std::int32_t kGroupOperations = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& each : lower) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return lower;
}

// Java's String.trim.
std::string_view trim(std::string_view text) {
  const auto is_space = [](char each) { return static_cast<unsigned char>(each) <= ' '; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view type_name(GroupType type) { return type == GroupType::classic ? "classic" : "consumer"; }

// Texts in small letters, sorted; none lets everything through.
using Filter = std::vector<std::string>;

bool passes(const Filter& filter, std::string_view text) {
  return filter.empty() || std::ranges::binary_search(filter, lower_case(text));
}

std::size_t size_of(const DescribedGroup& group) {
  std::size_t size = sizeof group;
  for (const auto& each : group.members) {
    size += sizeof each + each.member_id.size() + each.client_id.size() + each.client_host.size() +
            each.member_metadata.size() + each.member_assignment.size();
  }
  return size;
}

std::size_t size_of(const kafka::ConsumerGroupDescribeResponse::Assignment& assignment) {
  std::size_t size = 0;
  for (const auto& each : assignment.topic_partitions) {
    size += sizeof each + each.topic_name.size() + each.partitions.size() * sizeof each.partitions[0];
  }
  return size;
}

std::size_t size_of(const DescribedConsumerGroup& group) {
  std::size_t size = sizeof group;
  for (const auto& each : group.members) {
    size += sizeof each + each.member_id.size() + each.client_id.size() + each.client_host.size() +
            size_of(each.assignment) + size_of(each.target_assignment);
    for (const std::string_view topic : each.subscribed_topic_names) size += sizeof topic + topic.size();
  }
  return size;
}

}  // namespace

void list_groups(const Shard& shard, const kafka::ListGroupsRequest& request, kafka::ListGroupsResponse& response) {
  Filter states;
  for (const std::string_view each : request.states_filter) states.push_back(lower_case(trim(each)));
  std::ranges::sort(states);
  Filter types;
  for (const std::string_view each : request.types_filter) types.push_back(lower_case(each));
  std::ranges::sort(types);
  for (const auto& [id, group] : shard.groups()) {
    if (!passes(states, group->state()) || !passes(types, type_name(group->type()))) continue;
    response.groups.push_back({.group_id = id,
                               .protocol_type = group->protocol_type(),
                               .group_state = group->state(),
                               .group_type = type_name(group->type())});
  }
}

DescribedGroup describe_group(const Shard& shard, std::string_view id, bool with_operations, std::int16_t version,
                              AnswerRoom& room) {
  DescribedGroup answer;
  const Group* const group = shard.find(id);
  if (group != nullptr && group->type() == GroupType::classic) {
    answer = static_cast<const ClassicGroup*>(group)->describe();
  } else {
    answer.group_state = "Dead";
    if (version >= kUnknownIsAnError) {
      answer.error_code = wire(ErrorCode::GROUP_ID_NOT_FOUND);
      const char* const what = group == nullptr ? " not found." : " is not a classic group.";
      answer.error_message = room.keep("Group " + std::string(id) + what);
    }
  }
  answer.group_id = id;
  if (!room.take(size_of(answer))) return {.error_code = wire(ErrorCode::INVALID_REQUEST), .group_id = id};
  if (with_operations && answer.error_code == wire(ErrorCode::NONE)) answer.authorized_operations = kGroupOperations;
  return answer;
}

DescribedConsumerGroup describe_consumer_group(const Shard& shard, std::string_view id, bool with_operations,
                                               AnswerRoom& room) {
  DescribedConsumerGroup answer;
  answer.group_id = id;
  if (id.empty() || !shard.settings().serves_consumer_protocol) {
    answer.error_code = wire(id.empty() ? ErrorCode::INVALID_GROUP_ID : ErrorCode::UNSUPPORTED_VERSION);
    return answer;
  }
  const Group* const group = shard.find(id);
  if (group != nullptr && group->type() == GroupType::consumer) {
    static_cast<const ConsumerGroup*>(group)->describe(answer);
    if (!room.take(size_of(answer))) {
      DescribedConsumerGroup refused;
      refused.group_id = id;
      refused.error_code = wire(ErrorCode::INVALID_REQUEST);
      return refused;
    }
    if (with_operations) answer.authorized_operations = kGroupOperations;
    return answer;
  }
  answer.error_code = wire(ErrorCode::GROUP_ID_NOT_FOUND);
  const char* const what = group == nullptr ? " not found." : " is not a consumer group.";
  answer.error_message = room.keep("Group " + std::string(id) + what);
  return answer;
}

DeletedGroup delete_group(Shard& shard, std::string_view group, Effects& effects) {
  return {.group_id = group, .error_code = wire(shard.delete_group(group, effects))};
}

}  // namespace tailrace::groupcoord
