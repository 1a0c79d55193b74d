// What the broker answers from its image of the cluster: Metadata (with creation of topics on demand),
// DescribeTopicPartitions, DescribeCluster, DescribeConfigs, ApiVersions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/broker/forwarder.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::kafka {
struct MetadataRequest;
struct MetadataResponse;
}  // namespace tailrace::kafka

namespace tailrace::broker {

class Metadata {
 public:
  Metadata(NodeState& node, Forwarder& zkbridge) : node_(node), zkbridge_(zkbridge) {}
  void start(Request& request);
  void describe_cluster(Request& request);
  void describe_topic_partitions(Request& request);

 private:
  struct Creation;
  void answer(Request& request, const kafka::MetadataRequest& message, const Creation* creation);
  void create_topics(Request& request, std::shared_ptr<Creation> creation);
  [[nodiscard]] bool creates_topics(const kafka::MetadataRequest& message) const;

  NodeState& node_;
  Forwarder& zkbridge_;
};

void answer_api_versions(const NodeState& node, Request& request);
void answer_describe_configs(const NodeState& node, Request& request);
void answer_describe_user_scram_credentials(Request& request);

}  // namespace tailrace::broker
