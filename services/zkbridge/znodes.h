// Kafka 3.x's layout of the metadata tree: paths, and the JSON of each node as Kafka 3.9 writes it (ZkData). Reading is
// tolerant of older versions; what does not read is nullopt. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/zkbridge/cluster.h"

namespace tailrace::zkbridge::znodes {

constexpr const char* kController = "/controller";
constexpr const char* kControllerEpoch = "/controller_epoch";
constexpr const char* kClusterId = "/cluster/id";
constexpr const char* kBrokers = "/brokers/ids";
constexpr const char* kTopics = "/brokers/topics";
constexpr const char* kTopicConfigs = "/config/topics";
constexpr const char* kBrokerConfigs = "/config/brokers";
constexpr const char* kConfigs = "/config";
constexpr const char* kConfigChanges = "/config/changes";
constexpr const char* kConfigChange = "/config/changes/config_change_";  // and a number
constexpr const char* kClientMetrics = "/config/client-metrics";         // ours: Kafka 3.x had them with KRaft alone
constexpr const char* kGroupConfigs = "/config/groups";                  // ours, for the same reason
constexpr const char* kDeletions = "/admin/delete_topics";
constexpr const char* kProducerIds = "/latest_producer_id_block";
constexpr const char* kFeature = "/feature";

// The nodes that hold others and no data, parents first.
std::span<const char* const> persistent_paths();

std::string broker(BrokerId id);
std::string topic(std::string_view name);
std::string topic_partitions(std::string_view name);
std::string partition(std::string_view name, std::int32_t partition);
std::string partition_state(std::string_view name, std::int32_t partition);
std::string topic_config(std::string_view name);
std::string broker_config(std::string_view name);
std::string deletion(std::string_view name);
// "/brokers/topics/T/partitions/P/state" without the rest of the path: its partition number.
std::optional<std::int32_t> partition_number(std::string_view text);

std::string controller_json(BrokerId id, TimestampMs now_ms);
std::string cluster_id_json(std::string_view id);
std::optional<std::string> parse_cluster_id(std::string_view json);
std::string feature_json();
std::string broker_json(const Broker& broker, TimestampMs now_ms);
std::string topic_json(const Topic& topic);
// Replicas of each partition and the id (made up of zeros when a Kafka before 2.8 wrote it).
std::optional<Topic> parse_topic(std::string_view json);
std::string partition_state_json(const PartitionState& state);
bool parse_partition_state(std::string_view json, PartitionState& state);
std::string config_json(const node::ConfigMap& configs);
std::optional<node::ConfigMap> parse_config(std::string_view json);
// As the next start reads them: what is not UTF-8 is replaced.
node::ConfigMap as_stored(const node::ConfigMap& configs);
std::string config_change_json(std::string_view entity_path);

struct ProducerIdBlock {
  BrokerId broker = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;  // inclusive
};
std::string producer_ids_json(const ProducerIdBlock& block);
std::optional<ProducerIdBlock> parse_producer_ids(std::string_view json);

}  // namespace tailrace::zkbridge::znodes
