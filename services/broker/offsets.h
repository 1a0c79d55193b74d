// ListOffsets and OffsetForLeaderEpoch: one question to the engine per partition, answered together.
#pragma once

#include <memory>
#include <vector>

#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class Offsets {
 public:
  explicit Offsets(NodeState& node);
  ~Offsets();
  void start_list(Request& request);
  void start_epochs(Request& request);

 private:
  struct PendingList;
  struct PendingEpochs;
  template <class Pending>
  void answer_if_complete(std::vector<std::unique_ptr<Pending>>& running, Pending& pending);

  NodeState& node_;
  std::vector<std::unique_ptr<PendingList>> lists_;
  std::vector<std::unique_ptr<PendingEpochs>> epochs_;
};

}  // namespace tailrace::broker
