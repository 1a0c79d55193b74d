// FindCoordinator: which broker coordinates a group: the one that leads the group's partition of __consumer_offsets.
// The topic is made when the first client asks; the answer waits for it (Kafka's says that there is no coordinator yet,
// and the client comes again). Transactional ids are not coordinated here yet; the API is served for them too, since
// librdkafka before 2.11 takes its absence for a broker that cannot store lz4 (rdkafka_feature.c).
#pragma once

#include <vector>

#include "services/broker/forwarder.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class FindCoordinator {
 public:
  FindCoordinator(NodeState& node, Forwarder& zkbridge) : node_(node), zkbridge_(zkbridge) {}
  void start(Request& request);

 private:
  void create_offsets_topic();
  void answer(Request& request);

  NodeState& node_;
  Forwarder& zkbridge_;
  std::vector<Request*> waiting_;  // for the topic to be made
};

}  // namespace tailrace::broker
