// Fetch: asks the engine for a plan of every partition, waits for min_bytes or max_wait where the client allows it, and
// answers with a header from memory and records straight from the segment files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/api/messages.h"
#include "engine/base/counters.h"
#include "engine/io/timers.h"
#include "services/broker/fetch_sessions.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"
#include "services/kafka/messages/fetch.h"

namespace tailrace::broker {

class Reachable;

class Fetch {
 public:
  Fetch(NodeState& node, Counters& counters);
  ~Fetch();
  void start(Request& request);
  // Answers every fetch that still waits, with what there is.
  void stop_waiting();

 private:
  struct Pending;
  struct PartitionRead;

  void start_read(PartitionRead& read, bool watches);
  void on_all_planned(Pending& pending);
  void answer(Pending& pending);
  void end(Pending& pending);
  void fill_files(Pending& pending);
  void bound_bytes(const Request& request, kafka::FetchRequest& message) const;
  bool is_within_quota(Pending& pending);
  void answer_throttled(Pending& pending);
  void tell_leader(const PartitionRead& read, const Reachable& reachable, kafka::FetchResponse& response,
                   kafka::FetchResponse::PartitionData& data) const;

  NodeState& node_;
  FetchSessions sessions_;
  std::vector<std::unique_ptr<Pending>> running_;
  std::vector<std::unique_ptr<Pending>> spare_;
  Counter requests_, waited_, file_bytes_, open_sessions_;
};

}  // namespace tailrace::broker
