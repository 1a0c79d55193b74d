// DescribeConfigs: every setting of a broker, a topic or a group with its value, where the value comes from and what
// else was said about it, as Kafka's ConfigHelper answers. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/node/broker_configs.h"
#include "services/node/settings.h"

namespace tailrace::node {

// The numbers of DescribeConfigs.
enum class ConfigOrigin : std::int8_t {
  unknown = 0,
  topic = 1,           // DYNAMIC_TOPIC_CONFIG
  this_broker = 2,     // DYNAMIC_BROKER_CONFIG
  all_brokers = 3,     // DYNAMIC_DEFAULT_BROKER_CONFIG
  fixed = 4,           // STATIC_BROKER_CONFIG
  default_value = 5,   // DEFAULT_CONFIG
  client_metrics = 7,  // DYNAMIC_CLIENT_METRICS_CONFIG
  group = 8,           // DYNAMIC_GROUP_CONFIG
};

struct ConfigSynonym {
  std::string name;
  std::optional<std::string> value;  // null when sensitive
  ConfigOrigin source = ConfigOrigin::unknown;
};

struct ConfigRow {
  std::string name;
  std::optional<std::string> value;  // null: not set, or sensitive
  ConfigOrigin source = ConfigOrigin::default_value;
  bool read_only = false;
  bool sensitive = false;
  SettingType type = SettingType::unknown;
  std::vector<ConfigSynonym> synonyms;  // what counts first first; empty for a plain default of the topic alone
  const char* documentation = nullptr;  // ours; nullptr: none
};

// Sorted by name. `broker_id` is what node.id and broker.id show.
std::vector<ConfigRow> describe_broker(const BrokerConfigs& broker, BrokerId broker_id);
// The dynamic settings of all brokers (resource name ""): only what is set.
std::vector<ConfigRow> describe_all_brokers(const ConfigMap& of_all_brokers);
// A subscription to the metrics of clients; one that nobody made has the defaults.
std::vector<ConfigRow> describe_client_metrics(const ConfigMap& settings);
// A group, whether there is one of this name or not.
std::vector<ConfigRow> describe_group(const BrokerConfigs& broker, const ConfigMap& own);
std::vector<ConfigRow> describe_topic(const BrokerConfigs& broker, const ConfigMap& overrides);

}  // namespace tailrace::node
