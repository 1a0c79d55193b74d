#include "services/zkbridge/topic_plans.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "services/node/topic_config.h"
#include "services/zkbridge/assignment.h"

namespace tailrace::zkbridge {
namespace {

using kafka::ErrorCode;

std::unexpected<Refusal> refuse(ErrorCode code, std::string message) {
  return std::unexpected(Refusal{code, std::move(message)});
}

// Names that differ only in '.' and '_' would share the name of a metric.
std::string without_periods(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '.', '_');
  return out;
}

const std::string* colliding_topic(const Cluster& cluster, std::string_view name) {
  if (name.find_first_of("._") == std::string_view::npos) return nullptr;
  const std::string plain = without_periods(name);
  for (const auto& [other, topic] : cluster.topics) {
    if (other.size() == name.size() && without_periods(other) == plain) return &other;
  }
  return nullptr;
}

std::vector<BrokerId> live_brokers(const Cluster& cluster) {
  std::vector<BrokerId> ids;
  for (const auto& [id, broker] : cluster.brokers) ids.push_back(id);
  return ids;
}

using Wish = kafka::CreateTopicsRequest::CreatableTopic;

std::expected<std::vector<PartitionState>, Refusal> plan_manual(const Cluster& cluster, const Wish& wish) {
  if (wish.replication_factor != -1) {
    return refuse(ErrorCode::INVALID_REQUEST,
                  "A manual partition assignment was specified, but replication factor was not set to -1.");
  }
  if (wish.num_partitions != -1) {
    return refuse(ErrorCode::INVALID_REQUEST,
                  "A manual partition assignment was specified, but numPartitions was not set to -1.");
  }
  std::vector<PartitionState> partitions(wish.assignments.size());
  std::vector<bool> seen(partitions.size());
  for (const auto& assignment : wish.assignments) {
    const auto index = static_cast<std::size_t>(assignment.partition_index);
    if (assignment.partition_index < 0 || index >= partitions.size()) {
      return refuse(ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                    "partitions should be a consecutive 0-based integer sequence");
    }
    if (seen[index]) {
      return refuse(ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                    fmt::format("Found multiple manual partition assignments for partition {}", index));
    }
    const std::optional<std::size_t> factor = &assignment == &wish.assignments.front()
                                                  ? std::nullopt
                                                  : std::optional(wish.assignments.front().broker_ids.size());
    if (auto refusal = refuse_replicas(cluster, assignment.broker_ids, factor)) return std::unexpected(*refusal);
    seen[index] = true;
    partitions[index].replicas = assignment.broker_ids;
  }
  return partitions;
}

std::expected<std::vector<PartitionState>, Refusal> place(const Cluster& cluster, std::int32_t count,
                                                          std::int32_t replication_factor, Placement placement) {
  const std::vector<BrokerId> brokers = live_brokers(cluster);
  if (static_cast<std::size_t>(replication_factor) > brokers.size()) {
    return refuse(ErrorCode::INVALID_REPLICATION_FACTOR,
                  fmt::format("Unable to replicate the partition {} time(s): The target replication factor of {} "
                              "cannot be reached because only {} broker(s) are registered or some brokers have all "
                              "their log directories cordoned.",
                              replication_factor, replication_factor, brokers.size()));
  }
  std::vector<PartitionState> partitions;
  for (std::vector<BrokerId>& replicas : assign_replicas(brokers, count, replication_factor, placement)) {
    partitions.push_back({.replicas = std::move(replicas), .adding = {}, .removing = {}, .isr = {}});
  }
  return partitions;
}

std::expected<std::vector<PartitionState>, Refusal> plan_automatic(const Cluster& cluster,
                                                                   const node::BrokerConfigs& broker, const Wish& wish,
                                                                   const Chance& chance) {
  if (wish.replication_factor < -1 || wish.replication_factor == 0) {
    return refuse(ErrorCode::INVALID_REPLICATION_FACTOR,
                  "Replication factor must be larger than 0, or -1 to use the default value.");
  }
  if (wish.num_partitions < -1 || wish.num_partitions == 0) {
    return refuse(ErrorCode::INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.");
  }
  const std::int64_t count = wish.num_partitions == -1 ? broker.fixed.integer("num.partitions") : wish.num_partitions;
  const std::int64_t factor =
      wish.replication_factor == -1 ? broker.fixed.integer("default.replication.factor") : wish.replication_factor;
  const auto size = static_cast<std::uint64_t>(std::max<std::size_t>(cluster.brokers.size(), 1));
  return place(cluster, static_cast<std::int32_t>(count), static_cast<std::int32_t>(factor),
               {static_cast<std::uint32_t>(chance() % size), static_cast<std::uint32_t>(chance() % size), 0});
}

std::expected<node::ConfigMap, Refusal> plan_configs(const node::BrokerConfigs& broker, const Wish& wish) {
  std::vector<std::string_view> nulls;  // a name may be empty
  for (const auto& config : wish.configs) {
    if (!config.value) nulls.push_back(config.name);
  }
  if (!nulls.empty()) {
    return refuse(ErrorCode::INVALID_CONFIG,
                  fmt::format("Null value not supported for topic configs: {}", fmt::join(nulls, ",")));
  }
  node::ConfigMap configs;
  for (const auto& config : wish.configs) {
    const auto value = node::check_topic_setting(config.name, *config.value);
    if (!value) return refuse(ErrorCode::INVALID_CONFIG, value.error());
    configs[std::string(config.name)] = *value;
  }
  if (const auto sound = node::check_topic_settings(broker, configs); !sound) {
    return refuse(ErrorCode::INVALID_CONFIG, sound.error());
  }
  return configs;
}

}  // namespace

std::optional<Refusal> refuse_topic_name(std::string_view name) {
  std::string fault = node::topic_name_fault(name);
  if (fault.empty()) return std::nullopt;
  return Refusal{ErrorCode::INVALID_TOPIC_EXCEPTION, std::move(fault)};
}

std::optional<Refusal> refuse_replicas(const Cluster& cluster, const std::vector<BrokerId>& replicas,
                                       std::optional<std::size_t> factor) {
  if (replicas.empty()) {
    return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                   "The manual partition assignment includes an empty replica list."};
  }
  std::vector<BrokerId> sorted = replicas;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!cluster.brokers.contains(sorted[i])) {
      return Refusal{
          ErrorCode::INVALID_REPLICA_ASSIGNMENT,
          fmt::format("The manual partition assignment includes broker {}, but no such broker is registered.",
                      sorted[i])};
    }
    if (i > 0 && sorted[i] == sorted[i - 1]) {
      return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                     fmt::format("The manual partition assignment includes the broker {} more than once.", sorted[i])};
    }
  }
  if (factor && replicas.size() != *factor) {
    return Refusal{
        ErrorCode::INVALID_REPLICA_ASSIGNMENT,
        fmt::format("The manual partition assignment includes a partition with {} replica(s), but this is not "
                    "consistent with previous partitions, which have {} replica(s).",
                    replicas.size(), *factor)};
  }
  return std::nullopt;
}

std::int64_t partitions_wished(const node::BrokerConfigs& broker, const Wish& wish) {
  if (!wish.assignments.empty()) return static_cast<std::int64_t>(wish.assignments.size());
  if (wish.num_partitions == -1) return broker.fixed.integer("num.partitions");
  return std::max(wish.num_partitions, 0);
}

std::expected<Topic, Refusal> plan_topic(const Cluster& cluster, const node::BrokerConfigs& broker, const Wish& wish,
                                         const Chance& chance) {
  if (auto refusal = refuse_topic_name(wish.name)) return std::unexpected(std::move(*refusal));
  if (wish.name == "__cluster_metadata") {
    return refuse(ErrorCode::INVALID_REQUEST, "Creation of internal topic __cluster_metadata is prohibited.");
  }
  if (cluster.topics.contains(wish.name)) {
    return refuse(ErrorCode::TOPIC_ALREADY_EXISTS, fmt::format("Topic '{}' already exists.", wish.name));
  }
  if (const std::string* other = colliding_topic(cluster, wish.name)) {
    return refuse(ErrorCode::INVALID_TOPIC_EXCEPTION,
                  fmt::format("Topic '{}' collides with existing topic: {}", wish.name, *other));
  }
  auto partitions =
      wish.assignments.empty() ? plan_automatic(cluster, broker, wish, chance) : plan_manual(cluster, wish);
  if (!partitions) return std::unexpected(partitions.error());
  auto configs = plan_configs(broker, wish);
  if (!configs) return std::unexpected(configs.error());
  Topic topic;
  topic.partitions = std::move(*partitions);
  topic.configs = std::move(*configs);
  return topic;
}

std::expected<std::vector<PartitionState>, Refusal> plan_growth(
    const Cluster& cluster, const kafka::CreatePartitionsRequest::CreatePartitionsTopic& wish, const Chance& chance) {
  const auto at = cluster.topics.find(wish.name);
  if (at == cluster.topics.end() || at->second.is_deleting) {
    return refuse(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "");
  }
  const Topic& topic = at->second;
  const auto current = static_cast<std::int32_t>(topic.partitions.size());
  if (wish.count == current) {
    return refuse(ErrorCode::INVALID_PARTITIONS, fmt::format("Topic already has {} partition(s).", current));
  }
  if (wish.count < current) {
    return refuse(ErrorCode::INVALID_PARTITIONS,
                  fmt::format("The topic {} currently has {} partition(s); {} would not be an increase.", wish.name,
                              current, wish.count));
  }
  const std::int32_t added = wish.count - current;
  if (added > kNewPartitionsMax) {
    return refuse(ErrorCode::POLICY_VIOLATION, "Excessively large number of additional partitions per request.");
  }
  const std::size_t factor = topic.partitions.empty() ? 1 : topic.partitions.front().replicas.size();
  if (wish.assignments) {
    if (wish.assignments->size() != static_cast<std::size_t>(added)) {
      return refuse(
          ErrorCode::INVALID_REPLICA_ASSIGNMENT,
          fmt::format("Attempted to add {} additional partition(s), but only {} assignment(s) were specified.", added,
                      wish.assignments->size()));
    }
    std::vector<PartitionState> partitions;
    for (const auto& assignment : *wish.assignments) {
      if (auto refusal = refuse_replicas(cluster, assignment.broker_ids, factor)) return std::unexpected(*refusal);
      partitions.push_back({.replicas = assignment.broker_ids, .adding = {}, .removing = {}, .isr = {}});
    }
    return partitions;
  }
  // The round goes on where the topic's first partition began it.
  const std::vector<BrokerId> brokers = live_brokers(cluster);
  std::uint32_t start = 0;
  if (!topic.partitions.empty() && !topic.partitions.front().replicas.empty()) {
    const auto first = std::ranges::find(brokers, topic.partitions.front().replicas.front());
    if (first != brokers.end()) start = static_cast<std::uint32_t>(first - brokers.begin());
  }
  const auto shift = static_cast<std::uint32_t>(chance() % std::max<std::size_t>(brokers.size(), 1));
  return place(cluster, added, static_cast<std::int32_t>(factor), {start, shift, current});
}

void choose_first_leaders(const Cluster& cluster, std::span<PartitionState> partitions) {
  for (PartitionState& state : partitions) {
    state.controller_epoch = cluster.controller_epoch;
    state.leader = kNoLeader;
    state.isr.clear();
    for (const BrokerId replica : state.replicas) {
      if (cluster.brokers.contains(replica)) state.isr.push_back(replica);
    }
    if (!state.isr.empty()) state.leader = state.isr.front();
  }
}

}  // namespace tailrace::zkbridge
