// What the settings of one group are in force (KIP-848, KIP-1043): its own, else what the broker says for all groups in
// its settings group.*, else the default; and Kafka's rules for a group's own (GroupConfig). PURE.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "services/node/broker_configs.h"

namespace tailrace::node {

// The broker's setting for all groups; empty: there is none, the group alone says it.
std::string group_synonym(std::string_view key);

// One setting as text, in normal form; `key` must be in the table. "" where there is neither value nor default. It is
// what the group was given, also where the broker's bounds have become others since.
std::string group_value(const BrokerConfigs& broker, const ConfigMap& own, std::string_view key);

// For a client that changes a group's settings: all that it has then, in normal form. Errors (INVALID_CONFIG) in
// Kafka's words: unknown keys, bad values, values beyond the broker's bounds, and what does not fit together.
std::expected<ConfigMap, std::string> check_group_settings(const BrokerConfigs& broker, const ConfigMap& own);

}  // namespace tailrace::node
