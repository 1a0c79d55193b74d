// What a client's wish about settings comes to (AlterConfigs, IncrementalAlterConfigs): Kafka's checks, error codes and
// texts (ConfigAdminManager, ConfigurationControlManager), against the cluster as it is. Nothing is changed here. PURE.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/types.h"
#include "services/kafka/messages/alter_configs.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/node/config.h"
#include "services/zkbridge/cluster.h"
#include "services/zkbridge/topic_plans.h"

namespace tailrace::zkbridge {

// ConfigResource.Type.
namespace resource_type {
constexpr std::int8_t kTopic = 2;
constexpr std::int8_t kBroker = 4;
constexpr std::int8_t kLogger = 8;
constexpr std::int8_t kClientMetrics = 16;
constexpr std::int8_t kGroup = 32;
}  // namespace resource_type

// AlterConfigOp.OpType; what a client sent may be none of them.
enum class ConfigOperation : std::int8_t { set = 0, remove = 1, append = 2, subtract = 3 };

// Borrows from the request.
struct ConfigWish {
  struct Change {
    std::string_view key;
    ConfigOperation operation = ConfigOperation::set;
    std::optional<std::string_view> value;
  };
  std::int8_t type = 0;
  std::string_view name;
  std::vector<Change> changes;
  bool replaces = false;  // AlterConfigs: what is not named goes
  bool is_repeated = false;
};
std::vector<ConfigWish> config_wishes(const kafka::AlterConfigsRequest& request);
std::vector<ConfigWish> config_wishes(const kafka::IncrementalAlterConfigsRequest& request);

struct ConfigContext {
  const Cluster& cluster;
  const node::BrokerConfigs& broker;
  BrokerId node_id = 0;
};

// The settings that the resource has afterwards; or why not. Of loggers there are none to change.
std::expected<node::ConfigMap, Refusal> plan_config(const ConfigContext& context, const ConfigWish& wish);

}  // namespace tailrace::zkbridge
