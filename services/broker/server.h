// Server: the broker's one thread. It accepts connections as their limits allow, routes their requests by the table of
// APIs, and drives the sessions with the engine, zkbridge and groupcoord. All decisions are in the parts; here they are
// joined.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/counters.h"
#include "services/broker/connection.h"
#include "services/broker/connection_limits.h"
#include "services/broker/delete_records.h"
#include "services/broker/fetch.h"
#include "services/broker/find_coordinator.h"
#include "services/broker/log_dirs.h"
#include "services/broker/metadata.h"
#include "services/broker/node_state.h"
#include "services/broker/offsets.h"
#include "services/broker/produce.h"
#include "services/broker/producers.h"
#include "services/broker/telemetry.h"
#include "services/broker/topic_changes.h"

namespace tailrace::broker {

class Server : public ConnectionHost {
 public:
  // With `connections_max` open ones (there are no descriptors for more) the next client waits until one ends.
  Server(NodeState& node, Forwarder& zkbridge, Forwarder& groupcoord, Counters& counters, std::size_t connections_max);
  ~Server() override;

  // Binds a listener; accepting starts with accept_all. Error: the port is taken, the host is not ours.
  Result<io::Address> bind(const io::Address& address);
  void accept_all();
  // Where what clients push of their metrics can be seen.
  void show_client_metrics_in(std::string path) { telemetry_.show_in(std::move(path)); }

  // Between turns: buries ended connections, hands out arena room.
  bool work();
  // Takes no new connections or requests; `over` when all that was in flight is answered, or after a time limit.
  void finish();
  [[nodiscard]] bool is_over() const { return finishing_ && (connections_.empty() || gave_up_); }

  void serve(Request& request) override;
  void on_connection_over(Connection& connection) override;
  std::int32_t count_time(Request& request) override;
  void resume_later(Connection& connection, Instant until) override;
  FrameMemory& frame_memory() override { return frame_memory_; }
  std::unique_ptr<Request> take_request() override;
  void give_back(std::unique_ptr<Request> request) override;

 private:
  struct Listening;
  void use_settings();
  void on_accepted(Listening& listening, std::int64_t result);
  void accept_next(Listening& listening);
  void let_in(Listening& listening);
  void close_slowly(io::Socket socket, Instant due);
  void on_slow_close();
  void close_excess();
  void on_resume();
  void route(Request& request);
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
  FindCoordinator find_coordinator_;
  TopicChanges topic_changes_;
  Telemetry telemetry_;
  std::vector<std::unique_ptr<Listening>> listeners_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> ended_;
  ConnectionLimits limits_;
  std::shared_ptr<const node::MetadataImage> settings_of_;  // the image whose settings are in force
  bool is_shortage_logged_ = false;
  Instant refusal_logged_;
  std::multimap<Instant, io::Socket> closing_slowly_;  // of addresses that connect too often
  io::Timer slow_close_timer_;
  std::set<std::pair<Instant, Connection*>> muted_;  // and when they go on
  io::Timer resume_timer_;
  Request* serving_ = nullptr;  // the one whose time runs now
  std::int64_t serving_since_ns_ = 0;
  std::vector<std::unique_ptr<Request>> spare_requests_;
  io::Timer limit_timer_;
  io::Timer sweep_timer_;
  bool finishing_ = false;
  bool gave_up_ = false;
  Counter connections_open_, connections_accepted_, connections_refused_, requests_, requests_throttled_, arena_used_;
};

}  // namespace tailrace::broker
