// DeleteRecords (KIP-107): one question to the engine per partition, answered together, or when the request's time is
// over.
#pragma once

#include <memory>
#include <vector>

#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class DeleteRecords {
 public:
  explicit DeleteRecords(NodeState& node);
  ~DeleteRecords();
  void start(Request& request);

 private:
  struct Pending;
  void answer(Pending& pending);
  void end_if_over(Pending& pending);

  NodeState& node_;
  std::vector<std::unique_ptr<Pending>> running_;
};

}  // namespace tailrace::broker
