// Server: the broker's one thread. It accepts connections, routes their requests by the table of APIs, and drives the
// sessions with the engine, zkbridge and groupcoord. All decisions are in the parts; here they are joined.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/counters.h"
#include "services/broker/connection.h"
#include "services/broker/delete_records.h"
#include "services/broker/fetch.h"
#include "services/broker/log_dirs.h"
#include "services/broker/metadata.h"
#include "services/broker/node_state.h"
#include "services/broker/offsets.h"
#include "services/broker/produce.h"
#include "services/broker/producers.h"

namespace tailrace::broker {

class Server : public ConnectionHost {
 public:
  // With `connections_max` open ones the next client waits until one ends, as with Kafka's max.connections.
  Server(NodeState& node, Forwarder& zkbridge, Forwarder& groupcoord, Counters& counters, std::size_t connections_max);
  ~Server() override;

  // Binds a listener; accepting starts with accept_all. Error: the port is taken, the host is not ours.
  Result<io::Address> bind(const io::Address& address);
  void accept_all();

  // Between turns: buries ended connections, hands out arena room.
  bool work();
  // Takes no new connections or requests; `over` when all that was in flight is answered, or after a time limit.
  void finish();
  [[nodiscard]] bool is_over() const { return finishing_ && (connections_.empty() || gave_up_); }

  void serve(Request& request) override;
  void on_connection_over(Connection& connection) override;
  FrameMemory& frame_memory() override { return frame_memory_; }
  std::unique_ptr<Request> take_request() override;
  void give_back(std::unique_ptr<Request> request) override;

 private:
  struct Listening;
  void on_accepted(Listening& listening, std::int64_t result);
  void accept_next(Listening& listening);
  void on_limit() { gave_up_ = true; }
  void on_sweep();

  NodeState& node_;
  Forwarder& zkbridge_;
  Forwarder& groupcoord_;
  FrameMemory frame_memory_;
  Produce produce_;
  Fetch fetch_;
  Offsets offsets_;
  DeleteRecords delete_records_;
  LogDirs log_dirs_;
  DescribeProducers producers_;
  Metadata metadata_;
  std::vector<std::unique_ptr<Listening>> listeners_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> ended_;
  std::size_t connections_max_;
  bool is_shortage_logged_ = false;
  std::vector<std::unique_ptr<Request>> spare_requests_;
  io::Timer limit_timer_;
  io::Timer sweep_timer_;
  bool finishing_ = false;
  bool gave_up_ = false;
  Counter connections_open_, connections_accepted_, requests_, arena_used_;
};

}  // namespace tailrace::broker
