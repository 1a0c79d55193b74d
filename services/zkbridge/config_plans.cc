#include "services/zkbridge/config_plans.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "services/node/client_match.h"
#include "services/node/group_config.h"
#include "services/node/settings.h"
#include "services/node/topic_config.h"

namespace tailrace::zkbridge {
namespace {

using kafka::ErrorCode;

constexpr std::size_t kValueBytesMax = INT16_MAX;  // what Kafka can store
constexpr std::int64_t kPushIntervalMinMs = 100;
constexpr std::int64_t kPushIntervalMaxMs = 3'600'000;

std::unexpected<Refusal> refuse(ErrorCode code, std::string message) {
  return std::unexpected(Refusal{code, std::move(message)});
}

std::optional<Refusal> refuse_form(const ConfigWish& wish) {
  if (wish.is_repeated) return Refusal{ErrorCode::INVALID_REQUEST, "Each resource must appear at most once."};
  std::set<std::string_view> keys;
  std::vector<std::string_view> nulls;  // a key may be empty
  for (const ConfigWish::Change& change : wish.changes) {
    if (!keys.insert(change.key).second) {
      return Refusal{ErrorCode::INVALID_REQUEST, "Error due to duplicate config keys"};
    }
    if (change.operation < ConfigOperation::set || change.operation > ConfigOperation::subtract) {
      return Refusal{ErrorCode::INVALID_REQUEST,
                     fmt::format("Unknown operation {} on config {}", static_cast<int>(change.operation), change.key)};
    }
    if (change.operation != ConfigOperation::remove && !change.value) nulls.push_back(change.key);
  }
  if (!nulls.empty()) {
    return Refusal{ErrorCode::INVALID_REQUEST,
                   fmt::format("Null value not supported for : {}", fmt::join(nulls, ", "))};
  }
  return std::nullopt;
}

// The entries of a list as they are, without its empty ones.
std::vector<std::string> entries_of(std::string_view list) {
  std::vector<std::string> entries;
  for (const std::string_view entry : node::split_list(list)) {
    if (!entry.empty()) entries.emplace_back(entry);
  }
  return entries;
}

std::string changed_list(std::string_view current, std::string_view with, bool is_append) {
  std::vector<std::string> entries = entries_of(current);
  for (const std::string& entry : entries_of(with)) {
    const auto at = std::ranges::find(entries, entry);
    if (is_append && at == entries.end()) entries.push_back(entry);
    if (!is_append && at != entries.end()) entries.erase(at);
  }
  std::string joined;
  for (const std::string& entry : entries) joined += (joined.empty() ? "" : ",") + entry;
  return joined;
}

// What the request leaves of the settings, and what it sets of it, in its order.
struct Outcome {
  node::ConfigMap configs;
  node::ConfigList set;
};

// `list_default` answers the default of a key that is a list, or a refusal.
template <class ListDefault>
std::expected<Outcome, Refusal> carry_out(const ConfigWish& wish, const node::ConfigMap& current,
                                          const ListDefault& list_default) {
  Outcome outcome;
  if (!wish.replaces) outcome.configs = current;
  for (const ConfigWish::Change& change : wish.changes) {
    const std::string key(change.key);
    if (change.operation == ConfigOperation::remove) {
      outcome.configs.erase(key);
      continue;
    }
    std::string value(*change.value);
    if (change.operation != ConfigOperation::set) {
      const std::expected<std::string, Refusal> otherwise = list_default(change);
      if (!otherwise) return std::unexpected(otherwise.error());
      const auto at = current.find(key);
      value = changed_list(at == current.end() ? *otherwise : at->second, value,
                           change.operation == ConfigOperation::append);
    }
    if (value.size() > kValueBytesMax) {
      return refuse(ErrorCode::INVALID_CONFIG,
                    fmt::format("The configuration value cannot be added because it exceeds the maximum value size of "
                                "{} bytes.",
                                kValueBytesMax));
    }
    outcome.configs[key] = value;
    outcome.set.emplace_back(key, std::move(value));
  }
  return outcome;
}

std::unexpected<Refusal> refuse_no_list(const ConfigWish::Change& change) {
  return refuse(ErrorCode::INVALID_CONFIG,
                fmt::format("Can't {} to key {} because its type is not LIST.",
                            change.operation == ConfigOperation::append ? "APPEND" : "SUBTRACT", change.key));
}

// -- Topics --------------------------------------------------------------------------------------------------------

std::expected<node::ConfigMap, Refusal> plan_topic_config(const ConfigContext& context, const ConfigWish& wish) {
  static const node::ConfigMap kNothing;
  const auto at = context.cluster.topics.find(wish.name);
  const bool is_there = at != context.cluster.topics.end() && !at->second.is_creating && !at->second.is_deleting;
  auto outcome = carry_out(wish, is_there ? at->second.configs : kNothing,
                           [](const ConfigWish::Change& change) -> std::expected<std::string, Refusal> {
                             const node::Setting* const setting = node::find_topic_setting(change.key);
                             if (setting == nullptr || setting->type != node::SettingType::list) {
                               return refuse_no_list(change);
                             }
                             return setting->default_value;
                           });
  if (!outcome) return std::unexpected(outcome.error());
  if (wish.name.empty()) return refuse(ErrorCode::INVALID_REQUEST, "Default topic resources are not allowed.");
  if (auto refusal = refuse_topic_name(wish.name)) return std::unexpected(*std::move(refusal));
  for (const auto& [key, value] : outcome->set) {
    auto normal = node::check_topic_setting(key, value);
    if (!normal) return refuse(ErrorCode::INVALID_CONFIG, std::move(normal.error()));
    outcome->configs[key] = *std::move(normal);
  }
  if (auto sound = node::check_topic_settings(context.broker, outcome->configs); !sound) {
    return refuse(ErrorCode::INVALID_CONFIG, std::move(sound.error()));
  }
  if (!is_there) {
    return refuse(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("The topic '{}' does not exist.", wish.name));
  }
  return std::move(outcome->configs);
}

// -- Brokers and loggers -------------------------------------------------------------------------------------------

// Kafka's brokers have a say in their own settings only.
std::optional<Refusal> refuse_node_id(const ConfigContext& context, std::string_view name, const char* text) {
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc{} || end != name.data() + name.size() || name.empty()) {
    return Refusal{ErrorCode::INVALID_REQUEST, fmt::format("Node id must be an integer, but it is: {}", name)};
  }
  // "01" would be one more resource, which no broker reads.
  if (name != std::to_string(context.node_id)) {
    return Refusal{ErrorCode::INVALID_REQUEST, fmt::format(fmt::runtime(text), context.node_id, name)};
  }
  return std::nullopt;
}

std::expected<node::ConfigMap, Refusal> plan_broker_config(const ConfigContext& context, const ConfigWish& wish) {
  if (!wish.name.empty()) {
    auto refusal = refuse_node_id(context, wish.name, "Unexpected broker id, expected {}, but received {}");
    if (refusal) return std::unexpected(*std::move(refusal));
  }
  static const node::ConfigMap kNothing;
  const auto at = context.cluster.broker_configs.find(wish.name.empty() ? kAllBrokers : wish.name);
  auto outcome = carry_out(
      wish, at == context.cluster.broker_configs.end() ? kNothing : at->second,
      [](const ConfigWish::Change& change) -> std::expected<std::string, Refusal> {
        const node::Setting* const setting = node::find_broker_setting(change.key);
        if (setting == nullptr) {
          return refuse(ErrorCode::INVALID_CONFIG, fmt::format("Unknown config name: {}", change.key));
        }
        if (setting->type != node::SettingType::list) {
          const bool is_append = change.operation == ConfigOperation::append;
          return refuse(ErrorCode::INVALID_CONFIG, fmt::format("Config value {} is not allowed for config key: {}",
                                                               is_append ? "append" : "subtract", change.key));
        }
        return setting->default_value == nullptr ? "" : setting->default_value;
      });
  if (!outcome) return std::unexpected(outcome.error());
  auto normal = node::check_broker_settings(context.broker, outcome->set, !wish.name.empty());
  if (!normal) return refuse(ErrorCode::INVALID_REQUEST, std::move(normal.error()));
  for (auto& [key, value] : *normal) outcome->configs[key] = std::move(value);
  return std::move(outcome->configs);
}

// The levels of loggers are not changed while a process runs, and none is told of (DescribeConfigs).
std::expected<node::ConfigMap, Refusal> plan_logger_config(const ConfigContext& context, const ConfigWish& wish) {
  if (wish.replaces) {
    return refuse(ErrorCode::INVALID_REQUEST, fmt::format("Unknown resource type {}", wish.type));
  }
  auto refusal = refuse_node_id(context, wish.name, "Unexpected node id. Expected {}, but received {}");
  if (refusal) return std::unexpected(*std::move(refusal));
  for (const ConfigWish::Change& change : wish.changes) {
    if (change.operation == ConfigOperation::append || change.operation == ConfigOperation::subtract) {
      return refuse(ErrorCode::INVALID_REQUEST,
                    fmt::format("{} operation is not allowed for the BROKER_LOGGER resource",
                                change.operation == ConfigOperation::append ? "APPEND" : "SUBTRACT"));
    }
    return refuse(ErrorCode::INVALID_CONFIG, fmt::format("Logger {} does not exist!", change.key));
  }
  return node::ConfigMap{};
}

// -- Client metrics and groups -------------------------------------------------------------------------------------

std::expected<node::ConfigMap, Refusal> plan_client_metrics(const ConfigContext& context, const ConfigWish& wish) {
  static const node::ConfigMap kNothing;
  const auto at = context.cluster.client_metrics.find(wish.name);
  auto outcome = carry_out(wish, at == context.cluster.client_metrics.end() ? kNothing : at->second,
                           [](const ConfigWish::Change& change) -> std::expected<std::string, Refusal> {
                             return refuse_no_list(change);  // as in Kafka, though two of the keys are lists
                           });
  if (!outcome) return std::unexpected(outcome.error());
  if (wish.name.empty()) return refuse(ErrorCode::INVALID_REQUEST, "Subscription name can't be empty");
  for (const auto& [key, value] : outcome->set) {
    if (node::find_client_metrics_setting(key) == nullptr) {
      return refuse(ErrorCode::INVALID_REQUEST, fmt::format("Unknown client metrics configuration: {}", key));
    }
  }
  for (const auto& [key, value] : outcome->set) {
    auto normal = node::normal_value(*node::find_client_metrics_setting(key), value);
    if (!normal) return refuse(ErrorCode::INVALID_CONFIG, std::move(normal.error()));
    if (key == "interval.ms") {
      const std::int64_t interval_ms = node::to_integer(*normal);
      if (interval_ms < kPushIntervalMinMs || interval_ms > kPushIntervalMaxMs) {
        return refuse(ErrorCode::INVALID_REQUEST,
                      fmt::format("Invalid value {} for interval.ms, interval must be between {} and {} (1 hour)",
                                  interval_ms, kPushIntervalMinMs, kPushIntervalMaxMs));
      }
    }
    if (key == "match") {
      if (auto match = node::parse_client_match(*normal); !match) {
        return refuse(ErrorCode::INVALID_CONFIG, "Illegal client matching pattern: " + match.error());
      }
    }
    outcome->configs[key] = *std::move(normal);
  }
  return std::move(outcome->configs);
}

std::expected<node::ConfigMap, Refusal> plan_group_config(const ConfigContext& context, const ConfigWish& wish) {
  static const node::ConfigMap kNothing;
  const auto at = context.cluster.group_configs.find(wish.name);
  auto outcome = carry_out(wish, at == context.cluster.group_configs.end() ? kNothing : at->second,
                           [](const ConfigWish::Change& change) -> std::expected<std::string, Refusal> {
                             return refuse_no_list(change);  // as in Kafka, though one of the keys is a list
                           });
  if (!outcome) return std::unexpected(outcome.error());
  if (wish.name.empty()) return refuse(ErrorCode::INVALID_REQUEST, "Default group resources are not allowed.");
  auto normal = node::check_group_settings(context.broker, outcome->configs);
  if (!normal) return refuse(ErrorCode::INVALID_CONFIG, std::move(normal.error()));
  return *std::move(normal);
}

void mark_repeated(std::vector<ConfigWish>& wishes) {
  std::map<std::pair<std::int8_t, std::string_view>, int> counts;
  for (const ConfigWish& wish : wishes) ++counts[{wish.type, wish.name}];
  for (ConfigWish& wish : wishes) wish.is_repeated = counts[{wish.type, wish.name}] > 1;
}

}  // namespace

std::vector<ConfigWish> config_wishes(const kafka::AlterConfigsRequest& request) {
  std::vector<ConfigWish> wishes;
  for (const auto& resource : request.resources) {
    ConfigWish& wish = wishes.emplace_back();
    wish.type = resource.resource_type;
    wish.name = resource.resource_name;
    wish.replaces = true;
    for (const auto& config : resource.configs)
      wish.changes.push_back({config.name, ConfigOperation::set, config.value});
  }
  mark_repeated(wishes);
  return wishes;
}

std::vector<ConfigWish> config_wishes(const kafka::IncrementalAlterConfigsRequest& request) {
  std::vector<ConfigWish> wishes;
  for (const auto& resource : request.resources) {
    ConfigWish& wish = wishes.emplace_back();
    wish.type = resource.resource_type;
    wish.name = resource.resource_name;
    for (const auto& config : resource.configs) {
      wish.changes.push_back({config.name, ConfigOperation{config.config_operation}, config.value});
    }
  }
  mark_repeated(wishes);
  return wishes;
}

std::expected<node::ConfigMap, Refusal> plan_config(const ConfigContext& context, const ConfigWish& wish) {
  if (auto refusal = refuse_form(wish)) return std::unexpected(*std::move(refusal));
  switch (wish.type) {
    case resource_type::kTopic:
      return plan_topic_config(context, wish);
    case resource_type::kBroker:
      return plan_broker_config(context, wish);
    case resource_type::kLogger:
      return plan_logger_config(context, wish);
    case resource_type::kClientMetrics:
      return plan_client_metrics(context, wish);
    case resource_type::kGroup:
      return plan_group_config(context, wish);
    default:
      return refuse(ErrorCode::INVALID_REQUEST, fmt::format("Unknown resource type {}", wish.type));
  }
}

}  // namespace tailrace::zkbridge
