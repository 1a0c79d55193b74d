// What the controller knows of the cluster: brokers, topics, partitions and settings, as the store has them. Plain
// data, owned by the controller. PURE.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/types.h"
#include "services/node/config.h"

namespace tailrace::zkbridge {

constexpr BrokerId kNoLeader = -1;

struct PartitionState {
  std::vector<BrokerId> replicas;  // in the order of preference
  std::vector<BrokerId> adding;
  std::vector<BrokerId> removing;
  BrokerId leader = kNoLeader;
  LeaderEpoch leader_epoch = 0;
  std::vector<BrokerId> isr;
  std::int32_t controller_epoch = 0;  // of the controller that wrote this
  std::int32_t version = 0;           // of the state node; "partition epoch"
  bool has_node = false;              // the state node is there
  bool is_known = false;              // the leader has said since our start that it has the partition
};

struct Topic {
  Uuid id;
  std::vector<PartitionState> partitions;  // by number
  node::ConfigMap configs;
  bool has_config_node = false;
  std::int32_t version = 0;  // of the topic's node
  bool is_creating = false;  // not durable yet: nobody is told of it
  bool is_growing = false;
  bool is_deleting = false;
};

struct BrokerEndpoint {
  std::string listener;
  std::string host;
  std::int32_t port = 0;
  std::int16_t security_protocol = 0;  // 0: PLAINTEXT
};

struct Broker {
  std::vector<BrokerEndpoint> endpoints;
  std::optional<std::string> rack;
  std::int64_t epoch = -1;  // zxid of its registration
};

struct Cluster {
  std::string id;
  std::int32_t controller_epoch = 0;
  std::int32_t controller_epoch_version = 0;  // of /controller_epoch: every change checks it
  std::map<BrokerId, Broker> brokers;         // the live ones
  std::map<std::string, Topic, std::less<>> topics;
  std::map<Uuid, std::string> topic_names;
  std::map<std::string, node::ConfigMap, std::less<>> broker_configs;  // by id, or "<default>"
  std::map<std::string, node::ConfigMap, std::less<>> client_metrics;  // subscriptions, by name
  std::map<std::string, node::ConfigMap, std::less<>> group_configs;   // of groups, by id
  std::map<std::string, node::ConfigMap, std::less<>> client_configs;  // quotas and more, by node::quota_path
  std::int64_t next_producer_id = 0;
  std::int32_t producer_id_block_version = 0;
};

constexpr std::string_view kAllBrokers = "<default>";  // the name of the settings of all brokers

}  // namespace tailrace::zkbridge
