// A broker's settings in force: what was changed at run time (Kafka's dynamic configuration, for this broker and for
// all brokers) over what the process was started with; and Kafka's families of keys that say the same thing in other
// units. PURE.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/node/config.h"

namespace tailrace::node {

struct Setting;

// Borrows all three; made where it is needed.
struct BrokerConfigs {
  const Config& fixed;
  const ConfigMap& of_this_broker;  // /config/brokers/ID
  const ConfigMap& of_all_brokers;  // /config/brokers/<default>
};

// Without anything dynamic.
BrokerConfigs only_fixed(const Config& config);

// The keys that say the same thing as `key`, itself among them, the one that counts first first: log.retention.ms,
// .minutes, .hours. For listener.name.X.KEY: that and KEY.
std::vector<std::string> broker_synonyms(std::string_view key);

// Explicit settings with the dynamic ones on top; a dynamic key takes away its synonyms, as in Kafka.
ConfigMap broker_overrides(const BrokerConfigs& configs);
// One setting in force as text; "" where there is neither value nor default. `key` must be in the table.
std::string broker_value(const BrokerConfigs& configs, std::string_view key);

// A setting of one listener, as it was given under listener.name.NAME. and passes as a value of `key`; nullopt: it was
// not.
std::optional<std::string> listener_value(const BrokerConfigs& configs, std::string_view listener,
                                          std::string_view key);

// Whether a change at run time takes effect before the next start; of keys that this node uses.
bool changes_at_run_time(const Setting& setting);

// For a client that sets a broker's settings at run time (DynamicBrokerConfig): what it sets, in normal form; unknown
// keys are taken as they are, for whoever reads them. `one_broker` is false for the settings of all brokers. Errors
// (INVALID_REQUEST) in Kafka's words: keys that may not be changed, or not for all brokers; a bad value.
using ConfigList = std::vector<std::pair<std::string, std::string>>;
std::expected<ConfigList, std::string> check_broker_settings(const BrokerConfigs& now, const ConfigList& wanted,
                                                             bool one_broker);

// A broker's keys for one topic setting; the first that is set counts, times its factor.
struct ServerSynonym {
  const char* key;
  std::int64_t factor = 1;
};
std::span<const ServerSynonym> server_synonyms(std::string_view topic_key);  // empty: the topic alone says it

}  // namespace tailrace::node
