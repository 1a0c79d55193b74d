// DescribeProducers (KIP-664): what each partition remembers of its producers, fetched from the engine page by page.
#pragma once

#include <memory>
#include <vector>

#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class DescribeProducers {
 public:
  explicit DescribeProducers(NodeState& node);
  ~DescribeProducers();
  void start(Request& request);

 private:
  struct Pending;
  void ask_next(Pending& pending);
  void answer(Pending& pending);

  NodeState& node_;
  std::vector<std::unique_ptr<Pending>> running_;
};

}  // namespace tailrace::broker
