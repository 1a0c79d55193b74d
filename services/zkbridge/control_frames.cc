#include "services/zkbridge/control_frames.h"

#include <algorithm>
#include <set>
#include <string>

#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/zkbridge/quota_plans.h"

namespace tailrace::zkbridge {
namespace {

constexpr std::int16_t kLeaderAndIsrVersion = 7;
constexpr std::int16_t kStopReplicaVersion = 4;
constexpr std::int16_t kUpdateMetadataVersion = 8;
constexpr BrokerId kLeaderDuringDelete = -2;
constexpr LeaderEpoch kEpochDuringDelete = -2;  // passes every check of epochs
constexpr std::int8_t kIncremental = 1;
constexpr std::int8_t kFull = 2;

template <class M>
kafka::Buffer frame(const M& message, std::int16_t key, std::int16_t version, const Sender& sender) {
  kafka::Buffer to;
  const std::string client = std::to_string(sender.controller);
  kafka::encode_request_header({.api_key = key,
                                .api_version = version,
                                .correlation_id = static_cast<std::int32_t>(sender.number & 0x7FFFFFFF),
                                .client_id = client},
                               to);
  kafka::encode(message, version, to);
  return to;
}

// The address that brokers use among themselves; the first listener until there is more than one node.
const BrokerEndpoint* inter_broker_endpoint(const Broker& broker) {
  return broker.endpoints.empty() ? nullptr : &broker.endpoints.front();
}

kafka::ConfigImage::Entity entity(std::int8_t type, std::string_view name, const node::ConfigMap& configs) {
  const bool is_default = type == kafka::kBrokerEntity && name == kAllBrokers;
  kafka::ConfigImage::Entity entity{.type = type, .name = is_default ? std::string_view() : name};
  for (const auto& [key, value] : configs) entity.entries.push_back({.key = key, .value = value});
  return entity;
}

kafka::Buffer encode_image(const kafka::ConfigImage& image) {
  kafka::Buffer to;
  kafka::encode(image, 0, to);
  return to;
}

}  // namespace

kafka::Buffer leader_and_isr_frame(const Cluster& cluster, const Sender& sender, std::span<const Mention> topics,
                                   bool is_whole) {
  kafka::LeaderAndIsrRequest request;
  request.controller_id = sender.controller;
  request.controller_epoch = cluster.controller_epoch;
  request.broker_epoch = sender.broker_epoch;
  request.type = is_whole ? kFull : kIncremental;
  std::set<BrokerId> leaders;
  for (const Mention& mention : topics) {
    auto& topic = request.topic_states.emplace_back();
    topic.topic_name = mention.name;
    topic.topic_id = mention.topic->id;
    for (const std::int32_t index : mention.partitions) {
      const PartitionState& state = mention.topic->partitions[static_cast<std::size_t>(index)];
      leaders.insert(state.leader);
      topic.partition_states.push_back({.topic_name = mention.name,
                                        .partition_index = index,
                                        .controller_epoch = state.controller_epoch,
                                        .leader = state.leader,
                                        .leader_epoch = state.leader_epoch,
                                        .isr = state.isr,
                                        .partition_epoch = state.version,
                                        .replicas = state.replicas,
                                        .adding_replicas = state.adding,
                                        .removing_replicas = state.removing,
                                        .is_new = !state.is_known});
    }
  }
  for (const BrokerId id : leaders) {
    const auto broker = cluster.brokers.find(id);
    if (broker == cluster.brokers.end()) continue;
    if (const BrokerEndpoint* endpoint = inter_broker_endpoint(broker->second)) {
      request.live_leaders.push_back({.broker_id = id, .host_name = endpoint->host, .port = endpoint->port});
    }
  }
  return frame(request, kafka::api_key::kLeaderAndIsr, kLeaderAndIsrVersion, sender);
}

kafka::Buffer update_metadata_frame(const Cluster& cluster, const Sender& sender, std::span<const Mention> topics) {
  kafka::UpdateMetadataRequest request;
  request.controller_id = sender.controller;
  request.controller_epoch = cluster.controller_epoch;
  request.broker_epoch = sender.broker_epoch;
  for (const Mention& mention : topics) {
    auto& topic = request.topic_states.emplace_back();
    topic.topic_name = mention.name;
    topic.topic_id = mention.topic->id;
    for (const std::int32_t index : mention.partitions) {
      const PartitionState& state = mention.topic->partitions[static_cast<std::size_t>(index)];
      auto& partition = topic.partition_states.emplace_back();
      partition.topic_name = mention.name;
      partition.partition_index = index;
      partition.controller_epoch = state.controller_epoch;
      partition.leader = mention.topic->is_deleting ? kLeaderDuringDelete : state.leader;
      partition.leader_epoch = state.leader_epoch;
      partition.isr = state.isr;
      partition.zk_version = state.version;
      partition.replicas = state.replicas;
      for (const BrokerId id : state.replicas) {
        if (!cluster.brokers.contains(id)) partition.offline_replicas.push_back(id);
      }
    }
  }
  for (const auto& [id, broker] : cluster.brokers) {
    auto& live = request.live_brokers.emplace_back();
    live.id = id;
    if (broker.rack) live.rack = *broker.rack;
    for (const BrokerEndpoint& endpoint : broker.endpoints) {
      live.endpoints.push_back({.port = endpoint.port,
                                .host = endpoint.host,
                                .listener = endpoint.listener,
                                .security_protocol = endpoint.security_protocol});
    }
  }
  return frame(request, kafka::api_key::kUpdateMetadata, kUpdateMetadataVersion, sender);
}

kafka::Buffer stop_replica_frame(const Cluster& cluster, const Sender& sender, std::span<const Mention> topics) {
  kafka::StopReplicaRequest request;
  request.controller_id = sender.controller;
  request.controller_epoch = cluster.controller_epoch;
  request.broker_epoch = sender.broker_epoch;
  for (const Mention& mention : topics) {
    auto& topic = request.topic_states.emplace_back();
    topic.topic_name = mention.name;
    for (const std::int32_t index : mention.partitions) {
      topic.partition_states.push_back(
          {.partition_index = index, .leader_epoch = kEpochDuringDelete, .delete_partition = true});
    }
  }
  return frame(request, kafka::api_key::kStopReplica, kStopReplicaVersion, sender);
}

kafka::Buffer whole_config_image(const Cluster& cluster) {
  kafka::ConfigImage image;
  image.is_whole = true;
  for (const auto& [name, topic] : cluster.topics) {
    if (!topic.is_creating && !topic.configs.empty()) {
      image.entities.push_back(entity(kafka::kTopicEntity, name, topic.configs));
    }
  }
  for (const auto& [name, configs] : cluster.broker_configs) {
    image.entities.push_back(entity(kafka::kBrokerEntity, name, configs));
  }
  for (const auto& [name, configs] : cluster.client_metrics) {
    image.entities.push_back(entity(kafka::kClientMetricsEntity, name, configs));
  }
  for (const auto& [name, configs] : cluster.group_configs) {
    image.entities.push_back(entity(kafka::kGroupEntity, name, configs));
  }
  std::vector<node::ConfigMap> quotas;  // what the image's views point into
  quotas.reserve(cluster.client_configs.size());
  for (const auto& [path, configs] : cluster.client_configs) {
    image.entities.push_back(entity(kafka::kQuotaEntity, path, quotas.emplace_back(only_quotas(configs))));
  }
  return encode_image(image);
}

kafka::Buffer config_image(std::int8_t type, std::string_view name, const node::ConfigMap& configs) {
  kafka::ConfigImage image;
  const node::ConfigMap quotas = type == kafka::kQuotaEntity ? only_quotas(configs) : node::ConfigMap{};
  image.entities.push_back(entity(type, name, type == kafka::kQuotaEntity ? quotas : configs));
  return encode_image(image);
}

}  // namespace tailrace::zkbridge
