#include "services/broker/server.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/observe.h"

namespace tailrace::broker {
namespace {

constexpr int kBacklog = 1024;
constexpr Duration kFinishLimit = std::chrono::seconds(10);
constexpr Duration kAcceptPause{100'000};  // after EMFILE: descriptors come back when connections end
// A client that has announced a frame and sends none of it holds memory that others wait for.
constexpr Duration kFrameStallMax = std::chrono::seconds(30);
constexpr Duration kSweepPause = std::chrono::seconds(10);
constexpr std::size_t kSpareRequestsMax = 64;
constexpr std::size_t kSpareBufferMax = 64 << 10;

}  // namespace

struct Server::Listening {
  Server* server = nullptr;
  io::Socket socket;
  std::size_t index = 0;
  io::Completion accepted;
  io::Timer pause;
  bool is_waiting = false;  // for the end of a connection
  void on_accepted(std::int64_t result) { server->on_accepted(*this, result); }
  void on_pause_over() { server->accept_next(*this); }
};

Server::Server(NodeState& node, Forwarder& zkbridge, Forwarder& groupcoord, Counters& counters,
               std::size_t connections_max)
    : node_(node),
      zkbridge_(zkbridge),
      groupcoord_(groupcoord),
      frame_memory_(node.arena),
      produce_(node, counters),
      fetch_(node, counters),
      offsets_(node),
      delete_records_(node),
      log_dirs_(node),
      producers_(node),
      metadata_(node, zkbridge),
      connections_max_(connections_max) {
  limit_timer_.bind<&Server::on_limit>(this);
  sweep_timer_.bind<&Server::on_sweep>(this);
  connections_open_ = counters.make("connections");
  connections_accepted_ = counters.make("connections_accepted");
  requests_ = counters.make("requests");
  arena_used_ = counters.make("arena_used_bytes");
}

Server::~Server() {
  node_.io.disarm(limit_timer_);
  node_.io.disarm(sweep_timer_);
}

Result<io::Address> Server::bind(const io::Address& address) {
  Result<io::Socket> socket = node_.io.listen(address, kBacklog);
  if (!socket) return std::unexpected(socket.error());
  auto listening = std::make_unique<Listening>();
  listening->server = this;
  listening->socket = *socket;
  listening->index = listeners_.size();
  listening->accepted.bind<&Listening::on_accepted>(listening.get());
  listening->pause.bind<&Listening::on_pause_over>(listening.get());
  listeners_.push_back(std::move(listening));
  return node_.io.local_address(*socket);
}

void Server::accept_all() {
  node_.io.arm(sweep_timer_, node_.io.now() + kSweepPause);
  for (const std::unique_ptr<Listening>& listening : listeners_) accept_next(*listening);
}

// Short of connections nobody is accepted: the rest of the descriptors is for segment files and the sessions.
void Server::accept_next(Listening& listening) {
  listening.is_waiting = connections_.size() >= connections_max_;
  if (!listening.is_waiting) return node_.io.accept(listening.socket, listening.accepted);
  if (!std::exchange(is_shortage_logged_, true)) log_warning("connections wait open={}", connections_.size());
}

void Server::on_accepted(Listening& listening, std::int64_t result) {
  if (finishing_) {
    if (result >= 0) node_.io.close(io::Socket{static_cast<int>(result)});
    return;
  }
  if (result < 0) {
    log_warning("connection not accepted error={}", -result);
    node_.io.arm(listening.pause, node_.io.now() + kAcceptPause);
    return;
  }
  connections_accepted_.add();
  const std::int64_t frame_bytes_max = std::min<std::int64_t>(
      node_.config.integer("socket.request.max.bytes"), static_cast<std::int64_t>(frame_memory_.frame_bytes_max()));
  connections_.push_back(std::make_unique<Connection>(node_, *this, io::Socket{static_cast<int>(result)},
                                                      listening.index, frame_bytes_max));
  Connection& connection = *connections_.back();
  connection.slot = connections_.size() - 1;
  connections_open_.set(connections_.size());
  connection.start();
  accept_next(listening);
}

void Server::on_connection_over(Connection& connection) {
  const std::size_t slot = connection.slot;
  CHECK(slot < connections_.size() && connections_[slot].get() == &connection);
  ended_.push_back(std::move(connections_[slot]));
  if (slot + 1 != connections_.size()) {
    connections_[slot] = std::move(connections_.back());
    connections_[slot]->slot = slot;
  }
  connections_.pop_back();
  connections_open_.set(connections_.size());
  if (finishing_) return;
  for (const std::unique_ptr<Listening>& listening : listeners_) {
    if (listening->is_waiting) accept_next(*listening);
  }
}

void Server::on_sweep() {
  const Instant now = node_.io.now();
  const Duration idle_max = std::chrono::milliseconds(node_.config.integer("connections.max.idle.ms"));
  std::vector<Connection*> stale;
  for (const std::unique_ptr<Connection>& each : connections_) {
    const Duration quiet = now - each->last_active();
    const Duration limit = each->is_receiving_frame() ? kFrameStallMax : idle_max;
    if ((each->is_receiving_frame() || each->is_idle()) && quiet > limit) stale.push_back(each.get());
  }
  for (Connection* const each : stale) each->close();
  node_.io.arm(sweep_timer_, now + kSweepPause);
}

std::unique_ptr<Request> Server::take_request() {
  if (spare_requests_.empty()) return std::make_unique<Request>();
  std::unique_ptr<Request> request = std::move(spare_requests_.back());
  spare_requests_.pop_back();
  return request;
}

void Server::give_back(std::unique_ptr<Request> request) {
  if (spare_requests_.size() >= kSpareRequestsMax || request->response.capacity() > kSpareBufferMax) return;
  kafka::Buffer response = std::move(request->response);
  response.clear();
  request->gaps.clear();
  request->files.clear();
  auto gaps = std::move(request->gaps);
  auto files = std::move(request->files);
  *request = Request{};
  request->response = std::move(response);
  request->gaps = std::move(gaps);
  request->files = std::move(files);
  spare_requests_.push_back(std::move(request));
}

bool Server::work() {
  ended_.clear();
  arena_used_.set(node_.arena.used_bytes());
  return frame_memory_.serve();
}

void Server::finish() {
  if (finishing_) return;
  finishing_ = true;
  for (const std::unique_ptr<Listening>& listening : listeners_) {
    node_.io.disarm(listening->pause);
    node_.io.forget(listening->socket.handle);
    node_.io.close(listening->socket);
  }
  std::vector<Connection*> all;
  for (const std::unique_ptr<Connection>& each : connections_) all.push_back(each.get());
  for (Connection* const each : all) each->finish();
  fetch_.stop_waiting();
  node_.io.disarm(sweep_timer_);
  node_.io.arm(limit_timer_, node_.io.now() + kFinishLimit);
}

void Server::serve(Request& request) {
  requests_.add();
  const kafka::Api* const api = request.api;
  // An unknown API or version closes the connection, as in Kafka; only ApiVersions answers that it does not know a
  // version.
  if (api == nullptr || !api->advertised()) return request.refuse();
  if (api->key == kafka::api_key::kApiVersions) return answer_api_versions(node_, request);
  if (!api->serves(request.header.api_version)) return request.refuse();
  if (api->handler == kafka::Handler::zkbridge) return zkbridge_.forward(request);
  if (api->handler == kafka::Handler::groupcoord) return groupcoord_.forward(request);
  switch (api->key) {
    case kafka::api_key::kProduce:
      return produce_.start(request);
    case kafka::api_key::kFetch:
      return fetch_.start(request);
    case kafka::api_key::kListOffsets:
      return offsets_.start_list(request);
    case kafka::api_key::kOffsetForLeaderEpoch:
      return offsets_.start_epochs(request);
    case kafka::api_key::kDeleteRecords:
      return delete_records_.start(request);
    case kafka::api_key::kDescribeLogDirs:
      return log_dirs_.start(request);
    case kafka::api_key::kDescribeProducers:
      return producers_.start(request);
    case kafka::api_key::kMetadata:
      return metadata_.start(request);
    case kafka::api_key::kDescribeCluster:
      return metadata_.describe_cluster(request);
    case kafka::api_key::kDescribeTopicPartitions:
      return metadata_.describe_topic_partitions(request);
    case kafka::api_key::kFindCoordinator:
      return answer_find_coordinator(request);
    case kafka::api_key::kDescribeConfigs:
      return answer_describe_configs(node_, request);
    default:
      CHECK(false);  // the table names a handler that is not here
  }
}

}  // namespace tailrace::broker
