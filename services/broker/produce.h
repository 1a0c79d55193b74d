// Produce: checks each partition's batch, packs it anew where the topic's compression.type asks for another codec,
// hands it to the engine, and answers when the engine has answered for all. What fails a check is answered with Kafka's
// error and never reaches the engine. Batches go to the engine in the order in which their requests came: where one
// must wait for memory, or for the next turn of the loop, those behind it wait with it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "engine/api/messages.h"
#include "engine/base/counters.h"
#include "engine/record/compression.h"
#include "services/broker/node_state.h"
#include "services/broker/rebuilt_memory.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class Produce {
 public:
  Produce(NodeState& node, FrameMemory& frames, Counters& counters);
  ~Produce();
  void start(Request& request);
  // Of the arena, kept for batches that are packed anew.
  [[nodiscard]] std::size_t unused_reserve_bytes() const { return rebuilt_memory_.unused_bytes(); }

 private:
  struct Pending;
  struct PartitionAppend;
  struct Target;

  std::unique_ptr<Pending> take_pending();
  bool start_appends(Pending& pending);
  void go_on();
  [[nodiscard]] Target target_of(const Pending& pending, const PartitionAppend& append) const;
  bool must_pause();
  bool start_partition(Pending& pending, PartitionAppend& append, Bytes records);
  bool check_and_append(Pending& pending, PartitionAppend& append, const Target& target, MutableBytes records);
  std::optional<MutableBytes> place_rebuilt(PartitionAppend& append, MutableBytes sent);
  void answer_if_complete(Pending& pending);

  NodeState& node_;
  std::vector<std::unique_ptr<Pending>> spare_;
  std::vector<std::unique_ptr<Pending>> running_;
  std::deque<Pending*> waiting_;  // for the first one's memory, or the next turn
  io::Timer next_turn_;
  Instant turn_;                // of the work that is counted
  std::int64_t worked_ns_ = 0;  // in it, on the records of batches
  RebuiltMemory rebuilt_memory_;
  record::Scratch unpacked_;
  record::Scratch rebuilt_;
  Counter requests_, batches_, bytes_, refused_, rebuilt_count_, waits_, pauses_;
};

}  // namespace tailrace::broker
