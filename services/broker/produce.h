// Produce: checks each partition's batch, hands it to the engine, and answers when the engine has answered for all.
// What fails a check is answered with Kafka's error and never reaches the engine.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/api/messages.h"
#include "engine/base/counters.h"
#include "engine/record/compression.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class Produce {
 public:
  Produce(NodeState& node, Counters& counters);
  ~Produce();
  void start(Request& request);

 private:
  struct Pending;
  struct PartitionAppend;
  struct Target;

  std::unique_ptr<Pending> take_pending();
  void start_partition(Pending& pending, PartitionAppend& append, const Target& target, Bytes records);
  void check_and_append(Pending& pending, PartitionAppend& append, const Target& target, MutableBytes records);
  void answer_if_complete(Pending& pending);

  NodeState& node_;
  std::vector<std::unique_ptr<Pending>> spare_;
  std::vector<std::unique_ptr<Pending>> running_;
  record::Scratch scratch_;
  Counter requests_, batches_, bytes_, refused_;
};

}  // namespace tailrace::broker
