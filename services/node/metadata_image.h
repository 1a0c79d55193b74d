// MetadataImage: what a node knows of its cluster: brokers, topics, partitions and their settings. An image never
// changes; what the controller sends makes the next one, and whoever holds an image may go on reading it. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/types.h"
#include "services/node/broker_configs.h"
#include "services/node/client_quotas.h"
#include "services/node/topic_config.h"

namespace tailrace::kafka {
struct UpdateMetadataRequest;
struct ConfigImage;
}  // namespace tailrace::kafka

namespace tailrace::node {

struct PartitionImage {
  BrokerId leader = -1;  // -1: none
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::vector<BrokerId> replicas;
  std::vector<BrokerId> in_sync;
  std::vector<BrokerId> offline;
};

struct TopicImage {
  std::string name;
  Uuid id;
  std::map<std::int32_t, PartitionImage> partitions;
  ConfigMap overrides;
  TopicConfig config;

  [[nodiscard]] const PartitionImage* find(std::int32_t partition) const {
    const auto found = partitions.find(partition);
    return found == partitions.end() ? nullptr : &found->second;
  }
};

struct BrokerImage {
  struct Listener {
    std::string name;
    std::string host;
    std::int32_t port = 0;
  };
  BrokerId id = 0;
  std::vector<Listener> listeners;
  std::optional<std::string> rack;
};

class MetadataImage {
 public:
  using Topics = std::map<std::string, std::shared_ptr<const TopicImage>, std::less<>>;

  // Both are shared with the images they came from where nothing changed.
  static std::shared_ptr<const MetadataImage> empty();
  [[nodiscard]] std::shared_ptr<const MetadataImage> with(const kafka::UpdateMetadataRequest& update,
                                                          const Config& fixed) const;
  [[nodiscard]] std::shared_ptr<const MetadataImage> with(const kafka::ConfigImage& settings, const Config& fixed,
                                                          BrokerId this_broker) const;

  // The settings of a topic, also of one that is not known yet but has settings.
  [[nodiscard]] TopicConfig config_of(std::string_view topic, const Config& fixed) const;

  // nullptr: no such topic. A zero id is nobody's.
  [[nodiscard]] const TopicImage* find(std::string_view name) const;
  [[nodiscard]] const TopicImage* find(const Uuid& id) const;
  [[nodiscard]] const Topics& topics() const { return topics_; }
  [[nodiscard]] const std::vector<BrokerImage>& brokers() const { return brokers_; }
  [[nodiscard]] BrokerId controller_id() const { return controller_id_; }
  [[nodiscard]] const ConfigMap& of_this_broker() const { return of_this_broker_; }
  [[nodiscard]] const ConfigMap& of_all_brokers() const { return of_all_brokers_; }
  // By path. Not null; another object when something changed.
  using Quotas = std::map<std::string, ClientQuota>;
  [[nodiscard]] const std::shared_ptr<const Quotas>& quotas() const { return quotas_; }
  // Subscriptions to the metrics of clients, by name (KIP-714). Not null; another object when something changed.
  using ClientMetrics = std::map<std::string, ConfigMap>;
  [[nodiscard]] const std::shared_ptr<const ClientMetrics>& client_metrics() const { return client_metrics_; }
  // Groups that have settings of their own (KIP-848), by id. Not null; another object when something changed.
  using GroupConfigs = std::map<std::string, ConfigMap, std::less<>>;
  [[nodiscard]] const std::shared_ptr<const GroupConfigs>& group_configs() const { return group_configs_; }

 private:
  [[nodiscard]] BrokerConfigs broker_configs(const Config& fixed) const {
    return {fixed, of_this_broker_, of_all_brokers_};
  }
  // The topic as it is known, to be changed, or a new one. A zero id (older messages have none) is that of the known
  // one.
  [[nodiscard]] std::shared_ptr<TopicImage> draft(std::string_view name, const Uuid& id, const Config& fixed) const;
  // Puts the topic into its place; one without partitions is gone.
  void keep(std::shared_ptr<const TopicImage> topic);
  void put(std::shared_ptr<const TopicImage> topic);
  void remove(const std::string& name);

  Topics topics_;
  std::unordered_map<Uuid, const TopicImage*, UuidHash> by_id_;
  std::map<std::string, ConfigMap, std::less<>> topic_settings_;  // also of topics that are not known yet
  std::vector<BrokerImage> brokers_;
  BrokerId controller_id_ = -1;
  ConfigMap of_this_broker_;
  ConfigMap of_all_brokers_;
  std::shared_ptr<const Quotas> quotas_ = std::make_shared<const Quotas>();
  std::shared_ptr<const ClientMetrics> client_metrics_ = std::make_shared<const ClientMetrics>();
  std::shared_ptr<const GroupConfigs> group_configs_ = std::make_shared<const GroupConfigs>();
};

}  // namespace tailrace::node
