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
constexpr Duration kSweepPauseMin = std::chrono::milliseconds(100);
constexpr Duration kSweepPauseMax = std::chrono::seconds(10);
// Sockets of addresses that connect too often; more are closed at once.
constexpr std::size_t kClosingSlowlyMax = 256;
constexpr Duration kRefusalLogPause = std::chrono::seconds(10);
// Of a request that another process answers: its frame is copied on the way, and the session takes so much and no more.
constexpr std::size_t kForwardedBytesMax = std::size_t{16} << 20;
constexpr std::size_t kSpareRequestsMax = 64;
constexpr std::size_t kSpareBufferMax = 64 << 10;

// The listener on which Kafka's brokers would speak to each other, where it is not the only one.
std::optional<std::size_t> protected_listener(const node::Config& config) {
  if (config.listeners.bound.size() < 2) return std::nullopt;
  std::string name = config.text("inter.broker.listener.name");
  if (name.empty()) name = config.text("security.inter.broker.protocol");
  for (std::size_t i = 0; i < config.listeners.bound.size(); ++i) {
    if (config.listeners.bound[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace

struct Server::Listening {
  Server* server = nullptr;
  io::Socket socket;
  std::size_t index = 0;
  io::Completion accepted;
  io::Timer pause;
  bool is_waiting = false;  // for the end of a connection
  io::Socket held;          // accepted, and waits because connections come too fast
  void on_accepted(std::int64_t result) { server->on_accepted(*this, result); }
  void on_pause_over() { held ? server->let_in(*this) : server->accept_next(*this); }
};

Server::Server(NodeState& node, Forwarder& zkbridge, Forwarder& groupcoord, Counters& counters,
               std::size_t connections_max)
    : node_(node),
      zkbridge_(zkbridge),
      groupcoord_(groupcoord),
      frame_memory_(node.arena),
      produce_(node, frame_memory_, counters),
      fetch_(node, counters),
      offsets_(node),
      delete_records_(node),
      log_dirs_(node),
      producers_(node),
      metadata_(node, zkbridge),
      find_coordinator_(node, zkbridge),
      topic_changes_(node, zkbridge),
      telemetry_(node, counters),
      limits_(node.quota_windows, protected_listener(node.config), connections_max) {
  limit_timer_.bind<&Server::on_limit>(this);
  sweep_timer_.bind<&Server::on_sweep>(this);
  slow_close_timer_.bind<&Server::on_slow_close>(this);
  resume_timer_.bind<&Server::on_resume>(this);
  connections_open_ = counters.make("connections");
  connections_accepted_ = counters.make("connections_accepted");
  connections_refused_ = counters.make("connections_refused");
  requests_ = counters.make("requests");
  requests_throttled_ = counters.make("requests_throttled");
  arena_used_ = counters.make("arena_used_bytes");
}

Server::~Server() {
  node_.io.disarm(limit_timer_);
  node_.io.disarm(sweep_timer_);
  node_.io.disarm(slow_close_timer_);
  node_.io.disarm(resume_timer_);
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
  use_settings();
  node_.io.arm(sweep_timer_, node_.io.now() + kSweepPauseMin);
  for (const std::unique_ptr<Listening>& listening : listeners_) accept_next(*listening);
}

// What may be changed while the broker runs, once for each image.
void Server::use_settings() {
  settings_of_ = node_.image;
  ConnectionSettings settings = connection_settings(node_.broker_configs());
  settings.listeners.resize(listeners_.size(), {settings.max, settings.per_second_max});
  limits_.use(std::move(settings));
  limits_.use(*node_.image->quotas());
  node_.quotas.use(node_.image->quotas());
  telemetry_.use_settings();
  close_excess();
}

// Short of connections nobody is accepted: the rest of the descriptors is for segment files and the sessions.
void Server::accept_next(Listening& listening) {
  listening.is_waiting = !limits_.has_room(listening.index);
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
  listening.held = io::Socket{static_cast<int>(result)};
  const std::int64_t wait_ms = limits_.wait_ms(listening.index, node_.quota_time());
  if (wait_ms == 0) return let_in(listening);
  node_.io.arm(listening.pause, node_.io.now() + std::chrono::milliseconds(wait_ms));
}

// The one that is held, if there is still room for it.
void Server::let_in(Listening& listening) {
  listening.is_waiting = !limits_.has_room(listening.index);
  if (listening.is_waiting) return;
  const io::Socket socket = std::exchange(listening.held, io::Socket{});
  const Result<io::Address> peer = node_.io.peer_address(socket);
  const std::string ip = peer ? node::plain_ip(peer->host) : std::string();
  const ConnectionLimits::Verdict verdict = limits_.let_in(listening.index, ip, node_.quota_time());
  if (verdict.address == nullptr) {
    connections_refused_.add();
    if (node_.io.now() - refusal_logged_ > kRefusalLogPause) {
      refusal_logged_ = node_.io.now();
      log_info("connections refused address={} because={}", ip, verdict.close_in_ms > 0 ? "rate" : "count");
    }
    close_slowly(socket, node_.io.now() + std::chrono::milliseconds(verdict.close_in_ms));
    return accept_next(listening);
  }
  const std::int64_t frame_bytes_max = std::min<std::int64_t>(
      node_.config.integer("socket.request.max.bytes"), static_cast<std::int64_t>(frame_memory_.frame_bytes_max()));
  connections_.push_back(std::make_unique<Connection>(node_, *this, socket, listening.index, frame_bytes_max));
  Connection& connection = *connections_.back();
  connection.slot = connections_.size() - 1;
  connection.address = verdict.address;
  connections_open_.set(connections_.size());
  connection.start();
  if (limits_.is_protected(listening.index)) close_excess();
  accept_next(listening);
}

// So that a client which connects again at once does not do it as fast as it can.
void Server::close_slowly(io::Socket socket, Instant due) {
  if (due <= node_.io.now() || closing_slowly_.size() >= kClosingSlowlyMax) return node_.io.close(socket);
  closing_slowly_.emplace(due, socket);
  if (!slow_close_timer_.armed() || due < slow_close_timer_.due) node_.io.arm(slow_close_timer_, due);
}

void Server::on_slow_close() {
  while (!closing_slowly_.empty() && closing_slowly_.begin()->first <= node_.io.now()) {
    node_.io.close(closing_slowly_.begin()->second);
    closing_slowly_.erase(closing_slowly_.begin());
  }
  if (!closing_slowly_.empty()) node_.io.arm(slow_close_timer_, closing_slowly_.begin()->first);
}

// Kafka, too, closes those that were used longest ago, whatever they are at.
void Server::close_excess() {
  std::size_t excess = limits_.excess();
  if (excess == 0) return;
  std::vector<Connection*> candidates;
  for (const std::unique_ptr<Connection>& each : connections_) {
    if (each->is_closing())
      excess -= std::min<std::size_t>(excess, 1);
    else if (!limits_.is_protected(each->listener()))
      candidates.push_back(each.get());
  }
  std::ranges::sort(candidates, {}, [](const Connection* each) { return each->last_active(); });
  candidates.resize(std::min(candidates.size(), excess));
  for (Connection* const each : candidates) each->close();
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
  limits_.ended(connection.listener(), *connection.address);
  telemetry_.on_connection_over(connection);
  muted_.erase({connection.muted_until(), &connection});
  if (finishing_) return;
  for (const std::unique_ptr<Listening>& listening : listeners_) {
    if (listening->is_waiting) listening->on_pause_over();
  }
}

void Server::on_sweep() {
  const Instant now = node_.io.now();
  // Negative, or longer than there are numbers for: for ever.
  const std::int64_t idle_max_ms = node_.config.integer("connections.max.idle.ms");
  const bool is_endless = idle_max_ms < 0 || idle_max_ms > Duration::max() / std::chrono::milliseconds(1);
  const Duration idle_max = is_endless ? Duration::max() : Duration(std::chrono::milliseconds(idle_max_ms));
  std::vector<Connection*> stale;
  for (const std::unique_ptr<Connection>& each : connections_) {
    const Duration quiet = now - each->last_active();
    const Duration limit = each->is_receiving_frame() ? kFrameStallMax : idle_max;
    if ((each->is_receiving_frame() || each->is_quiet()) && quiet > limit) stale.push_back(each.get());
  }
  for (Connection* const each : stale) each->close();
  node_.quotas.forget_idle(node_.quota_time());
  limits_.forget_idle(node_.quota_time());
  telemetry_.forget_silent();
  node_.io.arm(sweep_timer_, now + std::clamp(idle_max / 4, kSweepPauseMin, kSweepPauseMax));
}

void Server::resume_later(Connection& connection, Instant until) {
  requests_throttled_.add();
  muted_.erase({connection.muted_until(), &connection});
  muted_.emplace(until, &connection);
  if (!resume_timer_.armed() || until < resume_timer_.due) node_.io.arm(resume_timer_, until);
}

void Server::on_resume() {
  while (!muted_.empty() && muted_.begin()->first <= node_.io.now()) {
    Connection* const connection = muted_.begin()->second;
    muted_.erase(muted_.begin());
    connection->resume();
  }
  if (!muted_.empty()) node_.io.arm(resume_timer_, muted_.begin()->first);
}

// Kafka counts a request's time on its threads; here it is that of serving it and of sending the answer.
std::int32_t Server::count_time(Request& request) {
  if (!node_.quotas.has(QuotaType::request)) return 0;
  if (serving_ == &request) request.busy_ns += node_.io.steady_ns() - serving_since_ns_;
  serving_ = nullptr;
  // One that nobody waits for does not wait for others (KafkaApis.handleProduceRequest).
  if (request.is_silent) return 0;
  return node_.quotas.record(QuotaType::request, request.client(),
                             static_cast<double>(request.busy_ns) / kNanosecondsPerPercent, node_.quota_time());
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
  if (settings_of_ != node_.image && !listeners_.empty() && !finishing_) {
    use_settings();
    for (const std::unique_ptr<Listening>& listening : listeners_) {
      if (listening->is_waiting) listening->on_pause_over();
    }
  }
  arena_used_.set(node_.arena.used_bytes() - produce_.unused_reserve_bytes());
  return frame_memory_.serve();
}

void Server::finish() {
  if (finishing_) return;
  finishing_ = true;
  for (const std::unique_ptr<Listening>& listening : listeners_) {
    node_.io.disarm(listening->pause);
    node_.io.forget(listening->socket.handle);
    node_.io.close(listening->socket);
    if (listening->held) node_.io.close(listening->held);
  }
  node_.io.disarm(slow_close_timer_);
  for (const auto& [due, socket] : closing_slowly_) node_.io.close(socket);
  closing_slowly_.clear();
  std::vector<Connection*> all;
  for (const std::unique_ptr<Connection>& each : connections_) all.push_back(each.get());
  for (Connection* const each : all) each->finish();
  fetch_.stop_waiting();
  node_.io.disarm(sweep_timer_);
  node_.io.arm(limit_timer_, node_.io.now() + kFinishLimit);
}

void Server::serve(Request& request) {
  requests_.add();
  if (!node_.quotas.has(QuotaType::request)) return route(request);
  serving_ = &request;
  serving_since_ns_ = node_.io.steady_ns();
  route(request);
  // Not answered yet: else it may be gone.
  if (serving_ == &request) request.busy_ns += node_.io.steady_ns() - serving_since_ns_;
  serving_ = nullptr;
}

void Server::route(Request& request) {
  const kafka::Api* const api = request.api;
  // An unknown API or version closes the connection, as in Kafka; only ApiVersions answers that it does not know a
  // version.
  if (api == nullptr || !api->advertised()) return request.refuse();
  if (api->key == kafka::api_key::kApiVersions) return answer_api_versions(node_, request);
  if (!api->serves(request.header.api_version)) return request.refuse();
  const bool is_forwarded = api->handler == kafka::Handler::zkbridge || api->handler == kafka::Handler::groupcoord;
  if (is_forwarded && request.frame.size() > kForwardedBytesMax) return request.refuse();
  if (api->handler == kafka::Handler::zkbridge) {
    if (!topic_changes_.start(request)) zkbridge_.forward(request);
    return;
  }
  if (api->handler == kafka::Handler::groupcoord) return groupcoord_.forward(request);
  switch (api->key) {
    case kafka::api_key::kProduce:
      request.throttle(node_.quotas.record(QuotaType::produce, request.client(),
                                           static_cast<double>(request.frame.size()), node_.quota_time()));
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
    case kafka::api_key::kGetTelemetrySubscriptions:
      return telemetry_.get_subscriptions(request);
    case kafka::api_key::kPushTelemetry:
      return telemetry_.push(request);
    case kafka::api_key::kDescribeTopicPartitions:
      return metadata_.describe_topic_partitions(request);
    case kafka::api_key::kFindCoordinator:
      return find_coordinator_.start(request);
    case kafka::api_key::kDescribeUserScramCredentials:
      return answer_describe_user_scram_credentials(request);
    case kafka::api_key::kDescribeConfigs:
      return answer_describe_configs(node_, request);
    default:
      CHECK(false);  // the table names a handler that is not here
  }
}

}  // namespace tailrace::broker
