#include "services/node/metadata_image.h"

#include <algorithm>
#include <charconv>

#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/update_metadata.h"

namespace tailrace::node {
namespace {

constexpr BrokerId kLeaderDuringDelete = -2;  // LeaderAndIsr.LeaderDuringDelete: the partition is to be forgotten
constexpr std::int8_t kFullUpdate = 2;        // AbstractControlRequest.Type: what is not named is gone

ConfigMap to_map(const std::vector<kafka::ConfigImage::Entry>& entries) {
  ConfigMap map;
  for (const kafka::ConfigImage::Entry& each : entries) {
    if (each.value) map[std::string(each.key)] = std::string(*each.value);
  }
  return map;
}

void apply(const kafka::UpdateMetadataRequest::UpdateMetadataPartitionState& state, TopicImage& topic) {
  if (state.leader == kLeaderDuringDelete) {
    topic.partitions.erase(state.partition_index);
  } else {
    topic.partitions[state.partition_index] = {state.leader, state.leader_epoch, state.replicas, state.isr,
                                               state.offline_replicas};
  }
}

}  // namespace

std::shared_ptr<const MetadataImage> MetadataImage::empty() { return std::make_shared<const MetadataImage>(); }

const TopicImage* MetadataImage::find(std::string_view name) const {
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : found->second.get();
}

const TopicImage* MetadataImage::find(const Uuid& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

TopicConfig MetadataImage::config_of(std::string_view topic, const Config& fixed) const {
  const auto settings = topic_settings_.find(topic);
  return topic_config(broker_configs(fixed), settings == topic_settings_.end() ? ConfigMap{} : settings->second);
}

void MetadataImage::put(std::shared_ptr<const TopicImage> topic) {
  const auto old = topics_.find(topic->name);
  if (old != topics_.end()) by_id_.erase(old->second->id);
  if (!topic->id.is_zero()) by_id_[topic->id] = topic.get();
  topics_[topic->name] = std::move(topic);
}

void MetadataImage::remove(const std::string& name) {
  const auto found = topics_.find(name);
  if (found == topics_.end()) return;
  by_id_.erase(found->second->id);
  topics_.erase(found);
}

std::shared_ptr<TopicImage> MetadataImage::draft(std::string_view name, const Uuid& id, const Config& fixed) const {
  auto topic = std::make_shared<TopicImage>();
  const TopicImage* const known = find(name);
  if (known != nullptr && (known->id == id || id.is_zero())) {
    *topic = *known;
    return topic;
  }
  topic->name = std::string(name);
  topic->id = id;
  const auto settings = topic_settings_.find(name);
  if (settings != topic_settings_.end()) topic->overrides = settings->second;
  topic->config = topic_config(broker_configs(fixed), topic->overrides);
  return topic;
}

void MetadataImage::keep(std::shared_ptr<const TopicImage> topic) {
  if (!topic->partitions.empty()) return put(std::move(topic));
  // A deletion names the old topic by its id: a new one of the same name stays.
  const TopicImage* const known = find(topic->name);
  if (known != nullptr && known->id == topic->id) remove(topic->name);
}

std::shared_ptr<const MetadataImage> MetadataImage::with(const kafka::UpdateMetadataRequest& update,
                                                         const Config& fixed) const {
  auto next = std::make_shared<MetadataImage>(*this);
  next->controller_id_ = update.controller_id;
  if (update.type == kFullUpdate) {
    next->topics_.clear();
    next->by_id_.clear();
  }
  next->brokers_.clear();
  for (const auto& each : update.live_brokers) {
    BrokerImage broker;
    broker.id = each.id;
    if (each.rack) broker.rack = std::string(*each.rack);
    for (const auto& endpoint : each.endpoints) {
      broker.listeners.push_back({std::string(endpoint.listener), std::string(endpoint.host), endpoint.port});
    }
    next->brokers_.push_back(std::move(broker));
  }
  std::map<std::string_view, std::shared_ptr<TopicImage>> ungrouped;  // before version 5
  for (const auto& each : update.ungrouped_partition_states) {
    std::shared_ptr<TopicImage>& topic = ungrouped[each.topic_name];
    if (topic == nullptr) topic = next->draft(each.topic_name, Uuid{}, fixed);
    apply(each, *topic);
  }
  for (auto& [name, topic] : ungrouped) next->keep(std::move(topic));
  for (const auto& state : update.topic_states) {
    const std::shared_ptr<TopicImage> topic = next->draft(state.topic_name, state.topic_id, fixed);
    for (const auto& each : state.partition_states) apply(each, *topic);
    next->keep(topic);
  }
  return next;
}

std::shared_ptr<const MetadataImage> MetadataImage::with(const kafka::ConfigImage& settings, const Config& fixed,
                                                         BrokerId this_broker) const {
  auto next = std::make_shared<MetadataImage>(*this);
  if (settings.is_whole) {
    next->topic_settings_.clear();
    next->of_this_broker_.clear();
    next->of_all_brokers_.clear();
  }
  Quotas quotas = settings.is_whole ? Quotas{} : *quotas_;
  ClientMetrics client_metrics = settings.is_whole ? ClientMetrics{} : *client_metrics_;
  const auto is_of_group = [](const kafka::ConfigImage::Entity& each) { return each.type == kafka::kGroupEntity; };
  const bool has_groups = settings.is_whole || std::ranges::any_of(settings.entities, is_of_group);
  GroupConfigs groups = has_groups && !settings.is_whole ? *group_configs_ : GroupConfigs{};
  for (const kafka::ConfigImage::Entity& each : settings.entities) {
    ConfigMap map = to_map(each.entries);
    if (each.type == kafka::kTopicEntity) {
      if (map.empty())
        next->topic_settings_.erase(std::string(each.name));
      else
        next->topic_settings_[std::string(each.name)] = std::move(map);
    } else if (each.type == kafka::kBrokerEntity && (each.name.empty() || each.name == "<default>")) {
      next->of_all_brokers_ = std::move(map);
    } else if (each.type == kafka::kBrokerEntity && each.name == std::to_string(this_broker)) {
      next->of_this_broker_ = std::move(map);
    } else if (each.type == kafka::kQuotaEntity) {
      quotas.erase(std::string(each.name));
      if (auto quota = client_quota(each.name, map)) quotas.emplace(each.name, *std::move(quota));
    } else if (each.type == kafka::kClientMetricsEntity) {
      client_metrics.erase(std::string(each.name));
      if (!map.empty()) client_metrics.emplace(each.name, std::move(map));
    } else if (is_of_group(each)) {
      groups.erase(std::string(each.name));
      if (!map.empty()) groups.emplace(each.name, std::move(map));
    }
  }
  if (quotas != *quotas_) next->quotas_ = std::make_shared<const Quotas>(std::move(quotas));
  if (client_metrics != *client_metrics_) {
    next->client_metrics_ = std::make_shared<const ClientMetrics>(std::move(client_metrics));
  }
  if (has_groups && groups != *group_configs_) {
    next->group_configs_ = std::make_shared<const GroupConfigs>(std::move(groups));
  }
  const BrokerConfigs broker = next->broker_configs(fixed);
  const bool defaults_changed = next->of_this_broker_ != of_this_broker_ || next->of_all_brokers_ != of_all_brokers_;
  const Topics topics = next->topics_;
  for (const auto& [name, topic] : topics) {
    const auto found = next->topic_settings_.find(name);
    const ConfigMap overrides = found == next->topic_settings_.end() ? ConfigMap{} : found->second;
    if (!defaults_changed && overrides == topic->overrides) continue;
    auto changed = std::make_shared<TopicImage>(*topic);
    changed->overrides = overrides;
    changed->config = topic_config(broker, overrides);
    next->put(std::move(changed));
  }
  return next;
}

}  // namespace tailrace::node
