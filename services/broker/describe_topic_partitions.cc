// DescribeTopicPartitions (KIP-966): topics and partitions in the order of their names, a page at a time. A cursor says
// where the page begins; where more is to come the answer has the cursor of the next page.
#include <algorithm>
#include <string_view>
#include <vector>

#include "services/broker/metadata.h"
#include "services/broker/reachable.h"
#include "services/broker/topics.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/describe_topic_partitions.h"

namespace tailrace::broker {
namespace {

using kafka::DescribeTopicPartitionsRequest;
using kafka::DescribeTopicPartitionsResponse;
using kafka::ErrorCode;
using TopicAnswer = DescribeTopicPartitionsResponse::DescribeTopicPartitionsResponseTopic;

// Sorted, each once, from the cursor's topic on.
std::vector<std::string_view> wanted_topics(const DescribeTopicPartitionsRequest& message,
                                            const node::MetadataImage& image) {
  const std::string_view from = message.cursor ? message.cursor->topic_name : std::string_view{};
  std::vector<std::string_view> names;
  if (message.topics.empty()) {
    for (auto each = image.topics().lower_bound(from); each != image.topics().end(); ++each)
      names.push_back(each->first);
    return names;
  }
  for (const auto& topic : message.topics) {
    if (topic.name >= from) names.push_back(topic.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// A cursor in a topic that was not asked for, or before its first partition.
bool is_sound(const DescribeTopicPartitionsRequest& message) {
  if (!message.cursor) return true;
  if (message.cursor->partition_index < 0) return false;
  return message.topics.empty() || std::any_of(message.topics.begin(), message.topics.end(), [&](const auto& topic) {
           return topic.name == message.cursor->topic_name;
         });
}

}  // namespace

void Metadata::describe_topic_partitions(Request& request) {
  const auto message = kafka::decode<DescribeTopicPartitionsRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  DescribeTopicPartitionsResponse response;
  if (!is_sound(*message)) {
    for (const auto& topic : message->topics) {
      response.topics.push_back({.error_code = kafka::wire(ErrorCode::INVALID_REQUEST), .name = topic.name});
    }
    return request.respond(response);
  }
  const node::MetadataImage& image = *node_.image;
  const Reachable reachable(node_, *request.connection);
  const bool all_topics = message->topics.empty();
  auto left = static_cast<std::size_t>(
      std::max<std::int64_t>(1, std::min<std::int64_t>(message->response_partition_limit,
                                                       node_.config.integer("max.request.partition.size.limit"))));
  for (const std::string_view name : wanted_topics(*message, image)) {
    if (left == 0) {
      response.next_cursor = {.topic_name = name, .partition_index = 0};
      break;
    }
    const node::TopicImage* const topic = image.find(name);
    if (topic == nullptr && all_topics) continue;
    TopicAnswer& answer = response.topics.emplace_back();
    answer.name = name;
    answer.is_internal = is_internal_topic(name);
    answer.topic_authorized_operations = kTopicOperations;
    if (topic == nullptr) {
      answer.error_code = kafka::wire(is_valid_topic_name(name) ? ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                                                                : ErrorCode::INVALID_TOPIC_EXCEPTION);
      continue;
    }
    answer.topic_id = topic->id;
    const bool begins_inside = message->cursor && message->cursor->topic_name == name;
    auto each = topic->partitions.lower_bound(begins_inside ? message->cursor->partition_index : 0);
    for (; each != topic->partitions.end() && left != 0; ++each, --left) {
      const node::PartitionImage& partition = each->second;
      const Reachable::Leader leader = reachable.leader_of(partition, true);
      auto& out = answer.partitions.emplace_back();
      out.error_code = kafka::wire(leader.error);
      out.partition_index = each->first;
      out.leader_id = leader.id;
      out.leader_epoch = partition.leader_epoch;
      out.replica_nodes = partition.replicas;
      out.isr_nodes = partition.in_sync;
      out.eligible_leader_replicas.emplace();  // nobody can be left out of the in-sync ones and still be eligible
      out.last_known_elr.emplace();
      out.offline_replicas = partition.offline;
    }
    if (each != topic->partitions.end()) {
      response.next_cursor = {.topic_name = name, .partition_index = each->first};
      break;
    }
  }
  request.respond(response);
}

}  // namespace tailrace::broker
