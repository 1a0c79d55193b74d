#include "services/broker/reachable.h"

#include <algorithm>

#include "services/broker/connection.h"

namespace tailrace::broker {

Reachable::Reachable(const NodeState& node, Connection& connection) {
  const std::vector<node::Endpoint>& bound = node.config.listeners.bound;
  const std::string name = connection.listener() < bound.size() ? bound[connection.listener()].name : std::string();
  for (const node::BrokerImage& broker : node.image->brokers()) {
    if (broker.id == node.node_id && node.config.listeners.advertised.empty()) {
      const io::Address& address = connection.local_address();
      brokers_.push_back({&broker, address.host, address.port});
      continue;
    }
    const auto there = std::find_if(broker.listeners.begin(), broker.listeners.end(),
                                    [&](const node::BrokerImage::Listener& each) { return each.name == name; });
    if (there == broker.listeners.end()) {
      unreachable_.push_back(broker.id);
    } else {
      brokers_.push_back({&broker, there->host, there->port});
    }
  }
}

Reachable::Leader Reachable::leader_of(const node::PartitionImage& partition, bool tells_listener) const {
  using kafka::ErrorCode;
  if (std::ranges::any_of(brokers_, [&](const Broker& each) { return each.image->id == partition.leader; })) {
    return {partition.leader, ErrorCode::NONE};
  }
  const bool is_there = std::ranges::find(unreachable_, partition.leader) != unreachable_.end();
  return {-1, is_there && tells_listener ? ErrorCode::LISTENER_NOT_FOUND : ErrorCode::LEADER_NOT_AVAILABLE};
}

}  // namespace tailrace::broker
