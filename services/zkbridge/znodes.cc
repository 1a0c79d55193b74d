#include "services/zkbridge/znodes.h"

#include <charconv>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace tailrace::zkbridge::znodes {
namespace {

using Json = nlohmann::json;                 // as it was read
using OrderedJson = nlohmann::ordered_json;  // to be written: keys stay in their order, which is Kafka's

constexpr std::int64_t kPartitionsMax = 1'000'000;  // of a topic, in what we read

constexpr const char* kPersistentPaths[] = {
    "/admin",
    "/admin/delete_topics",
    "/brokers",
    "/brokers/ids",
    "/brokers/seqid",
    "/brokers/topics",
    "/cluster",
    "/config",
    "/config/brokers",
    "/config/changes",
    "/config/clients",
    "/config/ips",
    "/config/topics",
    "/config/users",
    "/consumers",
    "/isr_change_notification",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
};

std::optional<Json> parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

std::string dump(const OrderedJson& json) { return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }

const Json* member(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at == json.end() ? nullptr : &*at;
}

std::optional<std::int64_t> number(const Json& json, const char* key) {
  const Json* const value = member(json, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return value->get<std::int64_t>();
}

std::optional<std::int64_t> number_in_text(const Json& json, const char* key) {
  const Json* const value = member(json, key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (!value->is_string()) return std::nullopt;
  const std::string& text = value->get_ref<const std::string&>();
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::optional<std::string> text(const Json& json, const char* key) {
  const Json* const value = member(json, key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

std::optional<std::vector<BrokerId>> broker_ids(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<BrokerId> ids;
  for (const Json& id : json) {
    if (!id.is_number_integer()) return std::nullopt;
    ids.push_back(id.get<BrokerId>());
  }
  return ids;
}

const char* protocol_name(std::int16_t protocol) {
  switch (protocol) {
    case 1:
      return "SSL";
    case 2:
      return "SASL_PLAINTEXT";
    case 3:
      return "SASL_SSL";
    default:
      return "PLAINTEXT";
  }
}

OrderedJson replicas_of(const Topic& topic, std::vector<BrokerId> PartitionState::* which, bool with_empty) {
  OrderedJson::object_t json;
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    const std::vector<BrokerId>& ids = topic.partitions[i].*which;
    // At the end of the vector below: to look for the key first, as operator[] does, takes the longer the more there
    // are.
    if (with_empty || !ids.empty()) json.OrderedJson::object_t::Container::emplace_back(std::to_string(i), ids);
  }
  return json;
}

bool read_replicas(const Json& json, const char* key, std::vector<BrokerId> PartitionState::* which, Topic& topic) {
  const Json* const map = member(json, key);
  if (map == nullptr) return true;  // older versions
  if (!map->is_object()) return false;
  for (const auto& [name, value] : map->items()) {
    const std::optional<std::int32_t> index = partition_number(name);
    std::optional<std::vector<BrokerId>> ids = broker_ids(value);
    if (!index || !ids || static_cast<std::size_t>(*index) >= topic.partitions.size()) return false;
    topic.partitions[static_cast<std::size_t>(*index)].*which = std::move(*ids);
  }
  return true;
}

std::string host_text(const std::string& host) { return host.find(':') == std::string::npos ? host : "[" + host + "]"; }

}  // namespace

std::span<const char* const> persistent_paths() { return kPersistentPaths; }

std::string broker(BrokerId id) { return fmt::format("{}/{}", kBrokers, id); }
std::string topic(std::string_view name) { return fmt::format("{}/{}", kTopics, name); }
std::string topic_partitions(std::string_view name) { return fmt::format("{}/{}/partitions", kTopics, name); }
std::string partition(std::string_view name, std::int32_t number) {
  return fmt::format("{}/{}/partitions/{}", kTopics, name, number);
}
std::string partition_state(std::string_view name, std::int32_t number) { return partition(name, number) + "/state"; }
std::string topic_config(std::string_view name) { return fmt::format("{}/{}", kTopicConfigs, name); }
std::string broker_config(std::string_view name) { return fmt::format("{}/{}", kBrokerConfigs, name); }
std::string deletion(std::string_view name) { return fmt::format("{}/{}", kDeletions, name); }

std::optional<std::int32_t> partition_number(std::string_view text) {
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0 || number >= kPartitionsMax) {
    return std::nullopt;
  }
  return number;
}

std::string controller_json(BrokerId id, TimestampMs now_ms) {
  return dump(OrderedJson{
      {"version", 2}, {"brokerid", id}, {"timestamp", std::to_string(now_ms)}, {"kraftControllerEpoch", -1}});
}

std::string cluster_id_json(std::string_view id) { return dump(OrderedJson{{"version", "1"}, {"id", id}}); }

std::optional<std::string> parse_cluster_id(std::string_view json) {
  const std::optional<Json> parsed = parse(json);
  return parsed ? text(*parsed, "id") : std::nullopt;
}

std::string feature_json() {
  return dump(OrderedJson{{"features", OrderedJson::object()}, {"version", 2}, {"status", 1}});
}

std::string broker_json(const Broker& broker, TimestampMs now_ms) {
  OrderedJson protocols = OrderedJson::object();
  OrderedJson endpoints = OrderedJson::array();
  const BrokerEndpoint* plaintext = nullptr;
  for (const BrokerEndpoint& endpoint : broker.endpoints) {
    protocols[endpoint.listener] = protocol_name(endpoint.security_protocol);
    endpoints.push_back(fmt::format("{}://{}:{}", endpoint.listener, host_text(endpoint.host), endpoint.port));
    if (plaintext == nullptr && endpoint.security_protocol == 0) plaintext = &endpoint;
  }
  OrderedJson json = {{"features", OrderedJson::object()},
                      {"listener_security_protocol_map", std::move(protocols)},
                      {"endpoints", std::move(endpoints)}};
  if (broker.rack) json["rack"] = *broker.rack;
  json["jmx_port"] = -1;
  // For readers older than endpoints; without a plaintext listener Kafka says -1 and null.
  json["port"] = plaintext == nullptr ? -1 : plaintext->port;
  json["host"] = plaintext == nullptr ? OrderedJson(nullptr) : OrderedJson(plaintext->host);
  json["version"] = 5;
  json["timestamp"] = std::to_string(now_ms);
  return dump(json);
}

std::string topic_json(const Topic& topic) {
  return dump(OrderedJson{{"partitions", replicas_of(topic, &PartitionState::replicas, true)},
                          {"topic_id", topic.id.text()},
                          {"adding_replicas", replicas_of(topic, &PartitionState::adding, false)},
                          {"removing_replicas", replicas_of(topic, &PartitionState::removing, false)},
                          {"version", 3}});
}

std::optional<Topic> parse_topic(std::string_view json) {
  const std::optional<Json> parsed = parse(json);
  if (!parsed) return std::nullopt;
  const Json* const partitions = member(*parsed, "partitions");
  if (partitions == nullptr || !partitions->is_object()) return std::nullopt;
  Topic topic;
  topic.partitions.resize(partitions->size());
  if (!read_replicas(*parsed, "partitions", &PartitionState::replicas, topic)) return std::nullopt;
  if (!read_replicas(*parsed, "adding_replicas", &PartitionState::adding, topic)) return std::nullopt;
  if (!read_replicas(*parsed, "removing_replicas", &PartitionState::removing, topic)) return std::nullopt;
  if (const std::optional<std::string> id = text(*parsed, "topic_id"); id && !Uuid::parse(*id, topic.id)) {
    return std::nullopt;
  }
  return topic;
}

std::string partition_state_json(const PartitionState& state) {
  return dump(OrderedJson{{"controller_epoch", state.controller_epoch},
                          {"leader", state.leader},
                          {"version", 1},
                          {"leader_epoch", state.leader_epoch},
                          {"isr", state.isr}});
}

bool parse_partition_state(std::string_view json, PartitionState& state) {
  const std::optional<Json> parsed = parse(json);
  if (!parsed) return false;
  const auto leader = number(*parsed, "leader");
  const auto leader_epoch = number(*parsed, "leader_epoch");
  const auto controller_epoch = number(*parsed, "controller_epoch");
  const Json* const isr = member(*parsed, "isr");
  std::optional<std::vector<BrokerId>> ids = isr == nullptr ? std::nullopt : broker_ids(*isr);
  if (!leader || !leader_epoch || !controller_epoch || !ids) return false;
  state.leader = static_cast<BrokerId>(*leader);
  state.leader_epoch = static_cast<LeaderEpoch>(*leader_epoch);
  state.controller_epoch = static_cast<std::int32_t>(*controller_epoch);
  state.isr = std::move(*ids);
  return true;
}

std::string config_json(const node::ConfigMap& configs) {
  OrderedJson entries = OrderedJson::object();
  for (const auto& [key, value] : configs) entries[key] = value;
  return dump(OrderedJson{{"version", 1}, {"config", std::move(entries)}});
}

std::optional<node::ConfigMap> parse_config(std::string_view json) {
  const std::optional<Json> parsed = parse(json);
  const Json* const entries = parsed ? member(*parsed, "config") : nullptr;
  if (entries == nullptr || !entries->is_object()) return std::nullopt;
  node::ConfigMap configs;
  for (const auto& [key, value] : entries->items()) {
    if (value.is_string()) configs[key] = value.get<std::string>();
  }
  return configs;
}

node::ConfigMap as_stored(const node::ConfigMap& configs) {
  return parse_config(config_json(configs)).value_or(node::ConfigMap{});
}

std::string config_change_json(std::string_view entity_path) {
  return dump(OrderedJson{{"version", 2}, {"entity_path", entity_path}});
}

std::string producer_ids_json(const ProducerIdBlock& block) {
  return dump(OrderedJson{{"version", 1},
                          {"broker", block.broker},
                          {"block_start", std::to_string(block.first)},
                          {"block_end", std::to_string(block.last)}});
}

std::optional<ProducerIdBlock> parse_producer_ids(std::string_view json) {
  const std::optional<Json> parsed = parse(json);
  if (!parsed) return std::nullopt;
  const auto broker = number(*parsed, "broker");
  const auto first = number_in_text(*parsed, "block_start");
  const auto last = number_in_text(*parsed, "block_end");
  if (!broker || !first || !last || *first < 0 || *last < *first) return std::nullopt;
  return ProducerIdBlock{static_cast<BrokerId>(*broker), *first, *last};
}

}  // namespace tailrace::zkbridge::znodes
