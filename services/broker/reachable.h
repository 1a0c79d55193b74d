// Reachable: the brokers as a client of one connection sees them: at what is advertised for its listener; this node,
// without `advertised.listeners`, at the address that the client connected to. Made for one answer; the answer borrows
// from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/broker/node_state.h"
#include "services/kafka/errors.h"

namespace tailrace::broker {

class Connection;

class Reachable {
 public:
  Reachable(const NodeState& node, Connection& connection);

  struct Broker {
    const node::BrokerImage* image = nullptr;
    std::string host;
    std::int32_t port = -1;
  };
  // Kafka leaves out a broker that does not listen there.
  [[nodiscard]] const std::vector<Broker>& brokers() const { return brokers_; }

  // `tells_listener`: the version asked for has LISTENER_NOT_FOUND.
  struct Leader {
    BrokerId id = -1;
    kafka::ErrorCode error = kafka::ErrorCode::NONE;
  };
  [[nodiscard]] Leader leader_of(const node::PartitionImage& partition, bool tells_listener) const;

 private:
  std::vector<Broker> brokers_;
  std::vector<BrokerId> unreachable_;
};

}  // namespace tailrace::broker
