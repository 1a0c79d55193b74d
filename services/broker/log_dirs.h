// DescribeLogDirs (KIP-113, KIP-827): the data directory, its disk, and the size of each partition's log in it, for
// which the engine is asked a bounded number at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class LogDirs {
 public:
  explicit LogDirs(NodeState& node);
  ~LogDirs();
  void start(Request& request);

 private:
  struct Pending;
  void ask_more(Pending& pending);
  void answer(Pending& pending);

  NodeState& node_;
  std::string directory_;  // absolute
  std::vector<std::unique_ptr<Pending>> running_;
};

}  // namespace tailrace::broker
