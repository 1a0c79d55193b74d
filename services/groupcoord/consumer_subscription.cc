#include "services/groupcoord/consumer_subscription.h"

#include <algorithm>

#include "engine/base/check.h"
#include "services/kafka/consumer_protocol.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

template <class Topics>
Assignment by_id(const Topics& topics, const node::MetadataImage& image) {
  Assignment partitions;
  for (const auto& topic : topics) {
    const node::TopicImage* known = image.find(topic.topic);
    if (known == nullptr || known->id.is_zero() || topic.partitions.empty()) continue;
    std::vector<std::int32_t>& to = partitions[known->id];
    to.insert(to.end(), topic.partitions.begin(), topic.partitions.end());
  }
  for (auto& [topic, of_topic] : partitions) {
    std::ranges::sort(of_topic);
    const auto repeated = std::ranges::unique(of_topic);
    of_topic.erase(repeated.begin(), repeated.end());
  }
  return partitions;
}

}  // namespace

std::optional<Subscription> parse_subscription(Bytes metadata) {
  auto decoded = kafka::decode_consumer_protocol<Subscription>(metadata);
  if (!decoded) return std::nullopt;
  return std::move(*decoded);
}

Assignment owned_partitions(const Subscription& subscription, const node::MetadataImage& image) {
  return by_id(subscription.owned_partitions, image);
}

std::optional<ParsedAssignment> parse_assignment(Bytes bytes, const node::MetadataImage& image) {
  if (bytes.empty()) return ParsedAssignment{};
  const auto decoded = kafka::decode_consumer_protocol<kafka::ConsumerProtocolAssignment>(bytes);
  if (!decoded) return std::nullopt;
  return ParsedAssignment{by_id(decoded->assigned_partitions, image),
                          decoded->user_data && !decoded->user_data->empty()};
}

std::vector<std::byte> assignment_bytes(const Assignment& partitions, Bytes metadata,
                                        const node::MetadataImage& image) {
  kafka::ConsumerProtocolAssignment message;
  for (const auto& [topic, of_topic] : partitions) {
    const node::TopicImage* known = image.find(topic);
    if (known == nullptr) continue;
    message.assigned_partitions.push_back({.topic = known->name, .partitions = of_topic});
  }
  const std::int16_t version = kafka::record_prefix(metadata).value_or(0);
  kafka::Buffer buffer;
  CHECK(kafka::encode_consumer_protocol(
            message, std::clamp(version, std::int16_t{0}, kafka::ConsumerProtocolAssignment::kMessage.version_max),
            buffer)
            .has_value());  // topic names are short
  return {buffer.bytes().begin(), buffer.bytes().end()};
}

Assignment without_epochs(const AssignmentEpochs& partitions) {
  Assignment bare;
  for (const auto& [topic, epochs] : partitions) {
    std::vector<std::int32_t>& to = bare[topic];
    for (const auto& [partition, epoch] : epochs) to.push_back(partition);
  }
  return bare;
}

AssignmentEpochs with_epoch(const Assignment& partitions, std::int32_t epoch) {
  AssignmentEpochs epochs;
  for (const auto& [topic, of_topic] : partitions) {
    for (const std::int32_t partition : of_topic) epochs[topic].emplace(partition, epoch);
  }
  return epochs;
}

}  // namespace tailrace::groupcoord
