#include "services/broker/control.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/observe.h"
#include "services/kafka/codec.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/node/control.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using node::ControlType;

constexpr std::int8_t kFullRequest = 2;  // AbstractControlRequest.Type.FULL
constexpr Duration kRetryPauseMin{50'000};
constexpr Duration kRetryPauseMax{1'000'000};

template <class Message>
kafka::Buffer response_frame(std::int32_t correlation_id, std::int16_t version, const Message& message) {
  kafka::Buffer frame;
  const std::int16_t key = Message::kMessage.api_key;
  kafka::encode_response_header(correlation_id, kafka::response_header_version(key, version), frame);
  kafka::encode(message, version, frame);
  return frame;
}

}  // namespace

// One LeaderAndIsr or StopReplica that waits for the engine.
struct Control::Batch {
  std::uint64_t number = 0;
  std::int32_t correlation_id = 0;
  std::int16_t version = 0;
  bool stops = false;
  struct Outcome {
    std::string topic;
    Uuid topic_id;
    std::int32_t partition = 0;
    ErrorCode error = ErrorCode::NONE;
  };
  std::vector<Outcome> outcomes;
  std::size_t awaited = 0;
};

// When something that the engine refused is tried again: less and less often, a full disk may be so for long.
struct Control::Retry {
  Instant due;
  std::uint16_t last_code = api::kOk;

  void on_failed(std::uint16_t code, Instant now) {
    last_code = code;
    pause_ = std::clamp(2 * pause_, kRetryPauseMin, kRetryPauseMax);
    due = now + pause_;
  }

 private:
  Duration pause_{0};
};

struct Control::Role {
  Control* control = nullptr;
  TopicIdPartition key;
  std::string topic;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  node::TopicConfig config;
  bool in_flight = false;
  bool is_set = false;      // the engine of this session leads it, as wanted
  bool is_changed = false;  // wanted otherwise since it was sent
  bool is_dropped = false;  // not wanted any more: it stays for its call in flight only
  bool was_answered = false;
  Retry retry;
  std::vector<std::pair<Batch*, std::size_t>> waiting;
  api::Call<api::RoleSet> call;
  void on_role_set(const api::RoleSet& answer, Bytes) { control->on_role_set(*this, answer); }
};

struct Control::Removal {
  Control* control = nullptr;
  Batch* batch = nullptr;
  std::size_t outcome = 0;
  TopicIdPartition key;
  std::string topic;
  bool in_flight = false;
  Retry retry;
  api::Call<api::Done> call;
  void on_removed(const api::Done& answer, Bytes) { control->on_removed(*this, answer); }
};

Control::Control(NodeState& node, const ipc::Bell& bell, std::string socket_path, Forwarder& forwarder,
                 std::function<void()> on_ready, std::function<void()> on_refused)
    : node_(node),
      forwarder_(forwarder),
      on_ready_(std::move(on_ready)),
      on_refused_(std::move(on_refused)),
      connector_(node.io, bell, std::move(socket_path), {.role = ipc::Role::broker, .ring_bytes = 1u << 18},
                 [this](std::unique_ptr<ipc::SocketLink> link) { on_session(std::move(link)); }) {
  identify_.bind<&Control::on_identified>(this);
  retry_timer_.bind<&Control::on_retry>(this);
}

Control::~Control() { node_.io.disarm(retry_timer_); }

void Control::start(std::vector<node::Endpoint> reachable) {
  reachable_ = std::move(reachable);
  connector_.connect();
}

void Control::on_session(std::unique_ptr<ipc::SocketLink> link) {
  link_ = link.get();
  link_->on_closed = [this] { on_session_closed(); };
  channel_ = std::make_unique<ipc::MessageChannel>(node_.io, std::move(link));
  kafka::NodeRegistrationRequest hello;
  for (const node::Endpoint& each : reachable_) {
    hello.endpoints.push_back({.listener = each.name, .host = each.host, .port = each.port, .security_protocol = 0});
  }
  const std::string rack = node_.config.text("broker.rack");
  if (!rack.empty()) hello.rack = rack;
  kafka::Buffer bytes;
  kafka::encode(hello, 0, bytes);
  channel_->send(static_cast<std::uint32_t>(ControlType::hello), {bytes.bytes()});
}

void Control::on_session_closed() {
  log_warning("session with zkbridge lost");
  forwarder_.use(nullptr);
  ended_channel_ = std::move(channel_);
  link_ = nullptr;
  // The controller sends everything anew; whatever it asked before is not waited for.
  for (auto& [key, role] : roles_) role->waiting.clear();
  for (const std::unique_ptr<Removal>& removal : removals_) removal->batch = nullptr;
  batches_.clear();
  has_image_ = false;
  connector_.connect();
}

bool Control::work() {
  ended_channel_.reset();
  if (channel_ == nullptr) return false;
  const bool worked = channel_->poll([this](std::uint32_t type, Bytes message) { on_message(type, message); });
  if (channel_ != nullptr && channel_->is_broken() && link_ != nullptr) link_->close();
  return worked;
}

void Control::publish() {
  if (channel_ != nullptr) channel_->publish();
}

bool Control::prepare_to_sleep() { return channel_ == nullptr || channel_->prepare_to_sleep(); }

void Control::wake() {
  if (channel_ != nullptr) channel_->wake();
}

void Control::on_message(std::uint32_t type, Bytes message) {
  switch (static_cast<ControlType>(type)) {
    case ControlType::welcome:
      return on_welcome(message);
    case ControlType::config_image:
      return on_config_image(message);
    case ControlType::control: {
      const Result<node::NumberedFrame> numbered = node::parse_numbered_frame(message);
      if (numbered) on_control(numbered->number, numbered->frame);
      return;
    }
    case ControlType::forward_reply: {
      const Result<node::NumberedFrame> numbered = node::parse_numbered_frame(message);
      if (numbered) forwarder_.on_reply(numbered->number, numbered->frame);
      return;
    }
    case ControlType::hello:
    case ControlType::forward:
    case ControlType::control_reply:
    case ControlType::forward_error:
    case ControlType::group_lag:
    case ControlType::group_lag_reply:
      return;
  }
}

void Control::on_welcome(Bytes message) {
  const auto welcome = kafka::decode<kafka::NodeRegistrationResponse>(message, 0);
  if (!welcome || welcome->error_code != 0) {
    log_error("registration refused code={}", welcome ? welcome->error_code : -1);
    return on_refused_();
  }
  node_.cluster_id = std::string(welcome->cluster_id);
  node_.node_id = welcome->broker_id;
  log_info("registered cluster={} node={} epoch={}", node_.cluster_id, node_.node_id, welcome->broker_epoch);
  forwarder_.use(channel_.get());
  if (node_.engine.attached() && !engine_identified_) on_engine_attached();
}

void Control::on_engine_attached() {
  engine_identified_ = false;
  for (auto& [key, role] : roles_) role->is_set = false;
  if (node_.node_id < 0) return;  // asked again with the welcome
  api::Identify identify;
  identify.node_id = node_.node_id;
  identify.cluster_id_size = static_cast<std::uint32_t>(std::min(node_.cluster_id.size(), sizeof identify.cluster_id));
  std::memcpy(identify.cluster_id, node_.cluster_id.data(), identify.cluster_id_size);
  node_.engine.identify(identify, identify_);
}

void Control::on_identified(const api::Done& done, Bytes) {
  if (done.code == static_cast<std::uint16_t>(Code::peer_gone)) return;
  if (done.code != api::kOk) {
    log_error("the engine's data directory belongs to another cluster or node code={}",
              name(static_cast<Code>(done.code)));
    return on_refused_();
  }
  engine_identified_ = true;
  for (auto& [key, role] : roles_) role->retry = {};
  for (const std::unique_ptr<Removal>& removal : removals_) removal->retry = {};
  start_roles_and_removals();
  tell_ready();
}

void Control::on_config_image(Bytes message) {
  const auto image = kafka::decode<kafka::ConfigImage>(message, 0);
  if (!image) return log_error("config image not understood");
  node_.image = node_.image->with(*image, node_.config, node_.node_id);
  for (auto& [key, role] : roles_) {
    if (role->is_dropped || role->config == node_.image->config_of(role->topic, node_.config)) continue;
    if (role->in_flight)
      role->is_changed = true;
    else
      set_role(*role);
  }
}

void Control::on_control(std::uint64_t number, Bytes frame) {
  kafka::RequestHeader header;
  std::size_t body_at = 0;
  if (!kafka::decode_request_header(frame, header, body_at)) return;
  const Bytes body = frame.subspan(body_at);
  switch (header.api_key) {
    case kafka::api_key::kLeaderAndIsr:
      return on_leader_and_isr(number, header.correlation_id, header.api_version, body);
    case kafka::api_key::kUpdateMetadata:
      return on_update_metadata(number, header.correlation_id, header.api_version, body);
    case kafka::api_key::kStopReplica:
      return on_stop_replica(number, header.correlation_id, header.api_version, body);
    default:
      log_error("control request not known key={}", header.api_key);
  }
}

void Control::reply(std::uint64_t number, Bytes frame) {
  if (channel_ == nullptr) return;
  channel_->send(static_cast<std::uint32_t>(ControlType::control_reply), {node::frame_number(number), frame});
}

void Control::on_update_metadata(std::uint64_t number, std::int32_t correlation_id, std::int16_t version, Bytes body) {
  auto update = kafka::decode<kafka::UpdateMetadataRequest>(body, version);
  if (!update) return log_error("UpdateMetadata not understood version={}", version);
  // The first of a session has everything: what it does not name was deleted while we were not connected.
  if (!has_image_) update->type = kFullRequest;
  node_.image = node_.image->with(*update, node_.config);
  has_image_ = true;
  reply(number, response_frame(correlation_id, version, kafka::UpdateMetadataResponse{}).bytes());
  tell_ready();
}

void Control::on_leader_and_isr(std::uint64_t number, std::int32_t correlation_id, std::int16_t version, Bytes body) {
  const auto message = kafka::decode<kafka::LeaderAndIsrRequest>(body, version);
  if (!message) return log_error("LeaderAndIsr not understood version={}", version);
  batches_.push_back(std::make_unique<Batch>());
  Batch& batch = *batches_.back();
  batch.number = number;
  batch.correlation_id = correlation_id;
  batch.version = version;
  batch.awaited = 1;
  std::map<TopicIdPartition, std::unique_ptr<Role>> dropped;
  if (message->type == kFullRequest) dropped.swap(roles_);
  for (const auto& topic : message->topic_states) {
    for (const auto& state : topic.partition_states) {
      const TopicIdPartition key{topic.topic_id, state.partition_index};
      batch.outcomes.push_back({std::string(topic.topic_name), topic.topic_id, state.partition_index, ErrorCode::NONE});
      std::unique_ptr<Role>& role = roles_[key];
      if (const auto kept = dropped.find(key); kept != dropped.end()) {
        role = std::move(kept->second);
        dropped.erase(kept);
      }
      if (state.leader != node_.node_id) {
        // Following is not served: a replica of another leader is an assignment that a single node cannot have.
        if (role == nullptr) roles_.erase(key);
        batch.outcomes.back().error = ErrorCode::REPLICA_NOT_AVAILABLE;
        continue;
      }
      if (role == nullptr) {
        role = std::make_unique<Role>();
        role->control = this;
        role->key = key;
        role->topic = std::string(topic.topic_name);
        role->call.bind<&Role::on_role_set>(role.get());
      }
      if (state.leader_epoch < role->leader_epoch) {
        batch.outcomes.back().error = ErrorCode::STALE_CONTROLLER_EPOCH;
        continue;
      }
      const bool is_same = role->is_set && !role->is_changed && role->leader_epoch == state.leader_epoch;
      role->leader_epoch = state.leader_epoch;
      role->is_dropped = false;
      if (is_same && !role->in_flight) continue;
      ++batch.awaited;
      role->waiting.emplace_back(&batch, batch.outcomes.size() - 1);
      if (role->in_flight)
        role->is_changed = true;
      else
        set_role(*role);
    }
  }
  // A role whose call is in flight must keep its place until the answer.
  for (auto& [key, role] : dropped) {
    log_warning("partition no longer ours topic={} partition={}", role->topic, key.partition);
    if (!role->in_flight) continue;
    role->is_dropped = true;
    roles_[key] = std::move(role);
  }
  --batch.awaited;
  answer_if_complete(batch);
}

void Control::set_role(Role& role) {
  if (!engine_identified_) return;  // all roles are set when it is
  const node::TopicConfig config = node_.image->config_of(role.topic, node_.config);
  api::SetRole request;
  request.partition = {role.key.topic_id, role.key.partition};
  request.leader_epoch = role.leader_epoch;
  request.segment_bytes = static_cast<std::uint32_t>(config.segment_bytes);
  request.index_bytes_max = static_cast<std::uint32_t>(config.segment_index_bytes);
  request.index_interval_bytes = static_cast<std::uint32_t>(config.index_interval_bytes);
  request.segment_ms = config.segment_ms;
  request.segment_jitter_ms = config.segment_jitter_ms;
  request.deletes_segments = config.cleanup_delete ? 1 : 0;
  request.retention_ms = config.retention_ms;
  request.retention_bytes = config.retention_bytes;
  request.file_delete_delay_ms = config.file_delete_delay_ms;
  request.last_code = role.retry.last_code;
  request.create = 1;
  request.topic_name_size = static_cast<std::uint16_t>(std::min(role.topic.size(), sizeof request.topic_name));
  std::memcpy(request.topic_name, role.topic.data(), request.topic_name_size);
  role.config = config;
  role.in_flight = true;
  role.is_changed = false;
  node_.engine.set_role(request, role.call);
}

void Control::on_role_set(Role& role, const api::RoleSet& answer) {
  role.in_flight = false;
  if (role.is_dropped) {
    const TopicIdPartition key = role.key;
    drop_role(roles_.find(key));
    for (const std::unique_ptr<Removal>& removal : removals_) {
      if (removal->key == key && !removal->in_flight) return remove(*removal);
    }
    return tell_ready();
  }
  if (answer.code == static_cast<std::uint16_t>(Code::peer_gone)) return;  // set again when the engine is back
  role.is_set = answer.code == api::kOk;
  if (role.is_set) {
    role.retry = {};
  } else {
    role.retry.on_failed(answer.code, node_.io.now());
    retry_at(role.retry.due);
  }
  if (answer.code == static_cast<std::uint16_t>(Code::retry)) return;
  role.was_answered = true;
  if (role.is_changed) return set_role(role);
  const ErrorCode error = role.is_set ? ErrorCode::NONE : kafka::to_wire(static_cast<Code>(answer.code));
  std::vector<std::pair<Batch*, std::size_t>> waiting;
  waiting.swap(role.waiting);
  for (const auto& [batch, outcome] : waiting) {
    batch->outcomes[outcome].error = error;
    --batch->awaited;
    answer_if_complete(*batch);
  }
  tell_ready();
}

void Control::on_stop_replica(std::uint64_t number, std::int32_t correlation_id, std::int16_t version, Bytes body) {
  const auto message = kafka::decode<kafka::StopReplicaRequest>(body, version);
  if (!message) return log_error("StopReplica not understood version={}", version);
  batches_.push_back(std::make_unique<Batch>());
  Batch& batch = *batches_.back();
  batch.number = number;
  batch.correlation_id = correlation_id;
  batch.version = version;
  batch.stops = true;
  batch.awaited = 1;
  for (const auto& topic : message->topic_states) {
    for (const auto& state : topic.partition_states) {
      const auto found = std::find_if(roles_.begin(), roles_.end(), [&](const auto& each) {
        return each.second->topic == topic.topic_name && each.first.partition == state.partition_index;
      });
      batch.outcomes.push_back({std::string(topic.topic_name), {}, state.partition_index, ErrorCode::NONE});
      // One that failed before is tried again for this request. One that is under way does not help where the
      // partition was made anew meanwhile.
      const auto pending = std::find_if(removals_.begin(), removals_.end(), [&](const auto& each) {
        if (each->batch != nullptr || each->key.partition != state.partition_index) return false;
        return found == roles_.end() ? each->topic == topic.topic_name : each->key == found->first && !each->in_flight;
      });
      if (pending != removals_.end()) {
        (*pending)->batch = &batch;
        (*pending)->outcome = batch.outcomes.size() - 1;
        ++batch.awaited;
        if (found != roles_.end() && found->second->in_flight) {
          found->second->is_dropped = true;  // when it has answered, the removal is sent
          continue;
        }
        if (found != roles_.end()) drop_role(found);
        if (!(*pending)->in_flight) remove(**pending);
        continue;
      }
      if (found == roles_.end()) continue;  // not there: as good as deleted
      auto removal = std::make_unique<Removal>();
      removal->control = this;
      removal->batch = &batch;
      removal->outcome = batch.outcomes.size() - 1;
      removal->key = found->first;
      removal->topic = found->second->topic;
      removal->call.bind<&Removal::on_removed>(removal.get());
      ++batch.awaited;
      removals_.push_back(std::move(removal));
      if (found->second->in_flight) {
        found->second->is_dropped = true;  // when it has answered, the removal is sent
        continue;
      }
      drop_role(found);
      remove(*removals_.back());
    }
  }
  --batch.awaited;
  answer_if_complete(batch);
}

// Whoever waits for the role is told that it does not come.
void Control::drop_role(std::map<TopicIdPartition, std::unique_ptr<Role>>::iterator at) {
  const std::unique_ptr<Role> role = std::move(at->second);
  roles_.erase(at);
  for (const auto& [batch, outcome] : role->waiting) {
    batch->outcomes[outcome].error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    --batch->awaited;
    answer_if_complete(*batch);
  }
}

void Control::remove(Removal& removal) {
  if (!engine_identified_) return;
  removal.in_flight = true;
  node_.engine.delete_partition(
      {.request = 0, .partition = {removal.key.topic_id, removal.key.partition}, .last_code = removal.retry.last_code},
      removal.call);
}

void Control::on_removed(Removal& removal, const api::Done& answer) {
  removal.in_flight = false;
  if (answer.code == static_cast<std::uint16_t>(Code::peer_gone)) return;
  if (answer.code != api::kOk) {
    // What could not be deleted stays to be deleted: otherwise the partition would be forgotten with its files there.
    removal.retry.on_failed(answer.code, node_.io.now());
    retry_at(removal.retry.due);
  }
  if (answer.code == static_cast<std::uint16_t>(Code::retry)) return;
  Batch* const batch = std::exchange(removal.batch, nullptr);
  const std::size_t outcome = removal.outcome;
  if (answer.code == api::kOk) {
    std::erase_if(removals_, [&](const auto& each) { return each.get() == &removal; });
  }
  if (batch == nullptr) return;
  if (answer.code != api::kOk) batch->outcomes[outcome].error = kafka::to_wire(static_cast<Code>(answer.code));
  --batch->awaited;
  answer_if_complete(*batch);
}

void Control::answer_if_complete(Batch& batch) {
  if (batch.awaited != 0) return;
  kafka::Buffer frame;
  if (batch.stops) {
    kafka::StopReplicaResponse response;
    for (const Batch::Outcome& each : batch.outcomes) {
      response.partition_errors.push_back(
          {.topic_name = each.topic, .partition_index = each.partition, .error_code = kafka::wire(each.error)});
    }
    frame = response_frame(batch.correlation_id, batch.version, response);
  } else {
    kafka::LeaderAndIsrResponse response;
    for (const Batch::Outcome& each : batch.outcomes) {
      if (response.topics.empty() || response.topics.back().topic_id != each.topic_id) {
        response.topics.push_back({.topic_id = each.topic_id});
      }
      response.topics.back().partition_errors.push_back(
          {.topic_name = each.topic, .partition_index = each.partition, .error_code = kafka::wire(each.error)});
    }
    frame = response_frame(batch.correlation_id, batch.version, response);
  }
  reply(batch.number, frame.bytes());
  std::erase_if(batches_, [&](const auto& each) { return each.get() == &batch; });
}

void Control::retry_at(Instant due) {
  if (!retry_timer_.armed() || due < retry_timer_.due) node_.io.arm(retry_timer_, due);
}

void Control::on_retry() { start_roles_and_removals(); }

// All that is not done and due.
void Control::start_roles_and_removals() {
  const Instant now = node_.io.now();
  const auto is_due = [&](const Retry& retry) {
    if (retry.due > now) retry_at(retry.due);
    return retry.due <= now;
  };
  for (auto& [key, role] : roles_) {
    if (!role->in_flight && !role->is_set && is_due(role->retry)) set_role(*role);
  }
  for (const std::unique_ptr<Removal>& removal : removals_) {
    if (!removal->in_flight && !roles_.contains(removal->key) && is_due(removal->retry)) remove(*removal);
  }
}

void Control::tell_ready() {
  if (told_ready_ || !has_image_ || !engine_identified_) return;
  for (const auto& [key, role] : roles_) {
    if (!role->was_answered && !role->is_dropped) return;  // one that failed does not keep the others from being served
  }
  told_ready_ = true;
  on_ready_();
}

}  // namespace tailrace::broker
