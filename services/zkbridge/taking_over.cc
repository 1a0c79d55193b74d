#include "services/zkbridge/taking_over.h"

#include <fmt/core.h>

#include "services/node/offsets_topic.h"
#include "services/zkbridge/znodes.h"

namespace tailrace::zkbridge {
namespace {

node::ConfigMap careful_settings(const std::string& topic) {
  if (topic == node::kOffsetsTopic) {
    return {{"cleanup.policy", "compact"}, {"compression.type", "producer"}, {"segment.bytes", "104857600"}};
  }
  if (topic == "__transaction_state" || topic == "__share_group_state") {
    return {{"cleanup.policy", "compact"},
            {"compression.type", "uncompressed"},
            {"segment.bytes", "104857600"},
            {"unclean.leader.election.enable", "false"}};
  }
  return {{"cleanup.policy", "delete"}, {"retention.bytes", "-1"}, {"retention.ms", "-1"}};
}

Topic topic_of(const FoundTopic& found, BrokerId node, std::int32_t controller_epoch, const Chance& chance) {
  Topic topic;
  topic.id = found.id.is_zero() ? random_id(chance) : found.id;
  topic.configs = found.settings ? *found.settings : careful_settings(found.name);
  topic.partitions.resize(static_cast<std::size_t>(found.partitions.rbegin()->first) + 1);
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    PartitionState& state = topic.partitions[i];
    const auto there = found.partitions.find(static_cast<std::int32_t>(i));
    state.replicas = state.isr = {node};
    state.leader = node;
    state.leader_epoch = there == found.partitions.end() ? 0 : there->second + 1;
    state.controller_epoch = controller_epoch;
  }
  return topic;
}

}  // namespace

Uuid random_id(const Chance& chance) {
  for (;;) {
    Uuid id;
    for (std::size_t half = 0; half < 2; ++half) {
      const std::uint64_t word = chance();
      for (std::size_t i = 0; i < 8; ++i) id.bytes[half * 8 + i] = static_cast<std::uint8_t>(word >> (8 * i));
    }
    id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0F) | 0x40);
    id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3F) | 0x80);
    if (!id.text().starts_with('-')) return id;
  }
}

std::vector<Operation> make_topic_nodes(std::string_view name, const Topic& topic) {
  std::vector<Operation> operations;
  operations.push_back(Create{znodes::topic_config(name), znodes::config_json(topic.configs)});
  operations.push_back(Create{znodes::topic(name), znodes::topic_json(topic)});
  operations.push_back(Create{znodes::topic_partitions(name), std::nullopt});
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    operations.push_back(Create{znodes::partition(name, number), std::nullopt});
    operations.push_back(
        Create{znodes::partition_state(name, number), znodes::partition_state_json(topic.partitions[i])});
  }
  return operations;
}

std::vector<Operation> take_over(const FoundData& found, BrokerId node, std::int32_t controller_epoch,
                                 const Chance& chance, TimestampMs now_ms, std::vector<std::string>& notes) {
  std::vector<Operation> operations;
  bool any_is_careful = false;
  for (const FoundTopic& topic : found.topics) {
    if (topic.partitions.empty() || refuse_topic_name(topic.name)) {
      notes.push_back(fmt::format("topic_not_taken_over name={} reason=\"not a name of a topic\"", topic.name));
      continue;
    }
    for (Operation& operation : make_topic_nodes(topic.name, topic_of(topic, node, controller_epoch, chance))) {
      operations.push_back(std::move(operation));
    }
    any_is_careful = any_is_careful || (!topic.settings && !topic.name.starts_with("__"));
    notes.push_back(fmt::format("topic_taken_over name={} partitions={}", topic.name, topic.partitions.size()));
  }
  if (!operations.empty()) {
    // Kafka hands out ids from 0 on, a thousand at a time: no cluster comes near the milliseconds since 1970.
    const std::int64_t first = now_ms / 1000 * 1000;
    operations.push_back(Set{znodes::kProducerIds, znodes::producer_ids_json({node, first, first + 999})});
    for (const auto& [name, configs] : found.broker_settings) {
      operations.push_back(
          Create{znodes::broker_config(name.empty() ? kAllBrokers : name), znodes::config_json(configs)});
    }
  }
  if (any_is_careful) {
    notes.push_back(
        "topics_have_no_retention reason=\"their settings are not in the data directory, and nothing of theirs shall "
        "be "
        "removed by defaults\"");
  }
  return operations;
}

}  // namespace tailrace::zkbridge
