// What a client's wish about topics comes to: Kafka's checks, error codes and texts (ReplicationControlManager),
// against the cluster as it is. Nothing is changed here. PURE.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/kafka/errors.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/node/broker_configs.h"
#include "services/zkbridge/cluster.h"

namespace tailrace::zkbridge {

// Kafka's bound on what one request may make, so that nobody brings the controller down by a slip.
constexpr std::int32_t kNewPartitionsMax = 10'000;

struct Refusal {
  kafka::ErrorCode code = kafka::ErrorCode::NONE;
  std::string message;
};

std::optional<Refusal> refuse_topic_name(std::string_view name);

// One partition's replicas as a client named them; `factor` is how many the topic's other partitions have.
std::optional<Refusal> refuse_replicas(const Cluster& cluster, const std::vector<BrokerId>& replicas,
                                       std::optional<std::size_t> factor);

using Chance = std::function<std::uint64_t()>;

// How many partitions a sound wish asks for; 0 for others.
std::int64_t partitions_wished(const node::BrokerConfigs& broker,
                               const kafka::CreateTopicsRequest::CreatableTopic& wish);

// The topic that a request asks for, with its id still zero, its assignment and settings, not led by anybody yet; or
// why not.
std::expected<Topic, Refusal> plan_topic(const Cluster& cluster, const node::BrokerConfigs& broker,
                                         const kafka::CreateTopicsRequest::CreatableTopic& wish, const Chance& chance);

// The replicas of the partitions to add; or why not.
std::expected<std::vector<PartitionState>, Refusal> plan_growth(
    const Cluster& cluster, const kafka::CreatePartitionsRequest::CreatePartitionsTopic& wish, const Chance& chance);

// Who leads new partitions: each replica list's first live broker, with all live ones in sync.
void choose_first_leaders(const Cluster& cluster, std::span<PartitionState> partitions);

}  // namespace tailrace::zkbridge
