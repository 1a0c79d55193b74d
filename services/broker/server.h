// Server: the broker's one thread. It accepts connections, routes their requests by the table of APIs, and drives the
// sessions with the engine, zkbridge and groupcoord. All decisions are in the parts; here they are joined.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/counters.h"
#include "services/broker/connection.h"
#include "services/broker/fetch.h"
#include "services/broker/metadata.h"
#include "services/broker/node_state.h"
#include "services/broker/offsets.h"
#include "services/broker/produce.h"

namespace tailrace::broker {

class Server : public ConnectionHost {
 public:
  Server(NodeState& node, Forwarder& zkbridge, Forwarder& groupcoord, Counters& counters);
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
  void wait_for_arena(Connection& connection) override;
  std::optional<ipc::Arena::Chunk> allocate(std::size_t size) override;
  std::unique_ptr<Request> take_request() override;
  void give_back(std::unique_ptr<Request> request) override;

 private:
  struct Listening;
  void on_accepted(Listening& listening, std::int64_t result);
  void on_limit() { gave_up_ = true; }
  void on_sweep();

  NodeState& node_;
  Forwarder& zkbridge_;
  Forwarder& groupcoord_;
  Produce produce_;
  Fetch fetch_;
  Offsets offsets_;
  Metadata metadata_;
  std::vector<std::unique_ptr<Listening>> listeners_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> ended_;
  std::deque<Connection*> waiting_for_arena_;
  std::vector<std::unique_ptr<Request>> spare_requests_;
  io::Timer limit_timer_;
  io::Timer sweep_timer_;
  bool finishing_ = false;
  bool gave_up_ = false;
  bool arena_was_freed_ = false;
  std::size_t large_bytes_ = 0;  // of the arena, taken by large frames
  Counter connections_open_, connections_accepted_, requests_, arena_used_;
};

}  // namespace tailrace::broker
