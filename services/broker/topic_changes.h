// TopicChanges: CreateTopics, CreatePartitions and DeleteTopics on their way to the controller. A client that has a
// quota of changes and has used it up is told so for each topic that it may not change now; the others go on. In
// versions that do not know the error all are changed, and the client waits afterwards (KIP-599).
#pragma once

#include <vector>

#include "services/broker/forwarder.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class TopicChanges {
 public:
  TopicChanges(NodeState& node, Forwarder& zkbridge) : node_(node), zkbridge_(zkbridge) {}
  // False: it is not such a request.
  bool start(Request& request);

 private:
  template <class Change>
  void change(Request& request);
  template <class Change>
  void forward_rest(Request& request, const std::vector<bool>& is_refused);

  NodeState& node_;
  Forwarder& zkbridge_;
};

}  // namespace tailrace::broker
