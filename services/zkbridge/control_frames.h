// The controller's messages to brokers as Kafka 3.9 sends them: LeaderAndIsr 7, StopReplica 4, UpdateMetadata 8, and
// our own ConfigImage; encoded at once, since they borrow from the cluster's state. PURE.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "services/kafka/buffer.h"
#include "services/zkbridge/cluster.h"

namespace tailrace::zkbridge {

// Partitions of one topic that a message speaks of.
struct Mention {
  std::string_view name;
  const Topic* topic = nullptr;
  std::vector<std::int32_t> partitions;
};

struct Sender {
  BrokerId controller = 0;
  std::int64_t broker_epoch = -1;  // of the receiver
  std::uint64_t number = 0;        // its low half is the correlation id
};

// `is_whole`: the receiver has no other partitions. A partition that its leader may not have yet is marked as new.
kafka::Buffer leader_and_isr_frame(const Cluster& cluster, const Sender& sender, std::span<const Mention> topics,
                                   bool is_whole);
// Partitions of a topic that is being deleted have the leader -2, which takes them out of the receiver's image.
kafka::Buffer update_metadata_frame(const Cluster& cluster, const Sender& sender, std::span<const Mention> topics);
// The receiver stops the partitions and deletes their data.
kafka::Buffer stop_replica_frame(const Cluster& cluster, const Sender& sender, std::span<const Mention> topics);

// Settings of everything that has some.
kafka::Buffer whole_config_image(const Cluster& cluster);
// `type`: kafka::kTopicEntity and its kin; `name` of a broker: its id or kAllBrokers.
kafka::Buffer config_image(std::int8_t type, std::string_view name, const node::ConfigMap& configs);

}  // namespace tailrace::zkbridge
