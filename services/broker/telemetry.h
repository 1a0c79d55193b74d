// Telemetry: clients ask which metrics they shall push, and push them (KIP-714). What came last of each instance is
// written to a file of the run directory, where `tailrace stat --clients` shows it. Kafka serves these only where
// somebody has written a plug-in that takes the metrics.
#pragma once

#include <string>

#include "engine/base/counters.h"
#include "engine/io/timers.h"
#include "engine/record/compression.h"
#include "services/broker/client_metrics.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class Telemetry {
 public:
  Telemetry(NodeState& node, Counters& counters);
  ~Telemetry();
  // Where the file is; without it nothing is written.
  void show_in(std::string path) { path_ = std::move(path); }
  void use_settings() { metrics_.use(node_.image->client_metrics()); }
  void get_subscriptions(Request& request);
  void push(Request& request);
  void on_connection_over(const Connection& connection);
  void forget_silent();

 private:
  MetricsClient client_of(const Request& request) const;
  void show_later();
  void on_show();

  NodeState& node_;
  ClientMetrics metrics_;
  record::Scratch scratch_;
  std::string path_;
  io::Timer show_timer_;
  Counter pushes_, refused_, bytes_, instances_;
};

}  // namespace tailrace::broker
