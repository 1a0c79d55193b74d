#include "services/groupcoord/service.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/base/observe.h"
#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/allocate_producer_ids.h"
#include "services/kafka/messages/group_lag.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/node/control.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;
using node::ControlType;

constexpr ProducerEpoch kNoProducerEpoch = -1;
constexpr std::int16_t kAllocateVersion = 0;

bool serves(std::int16_t api_key, std::int16_t api_version) {
  const kafka::Api* const api = kafka::find_api(api_key);
  return api != nullptr && api->handler == kafka::Handler::groupcoord && api->serves(api_version);
}

}  // namespace

Service::Service(io::Io& io, const ipc::Bell& bell, Counters& counters, const node::Config& config, const Paths& paths,
                 ipc::SharedMemory arena)
    : io_(io),
      bell_(bell),
      bridge_(io, bell, paths.bridge, config),
      engine_(io, bell, paths.engine, std::move(arena)),
      settings_(settings_from(config)),
      coordinator_(io, engine_.client(), engine_.arena(), settings_, *this),
      lag_reader_(io, engine_.client(),
                  [this](std::uint64_t session, const LagPage& page) { answer_lag(session, page.response()); }) {
  requests_ = counters.make("requests");
  lag_pages_ = counters.make("lag_pages");
  refused_ = counters.make("requests_refused");
  producer_ids_given_ = counters.make("producer_ids");
  blocks_ = counters.make("producer_id_blocks");
  open_sessions_ = counters.make("sessions");
  open_requests_ = counters.make("requests_open");
  producer_ids_due_.bind<&Service::on_producer_ids_due>(this);
  bridge_.on_registered = [this] { on_identity(); };
  bridge_.on_lost = [this] {
    producer_ids_.on_unreachable();
    arm_producer_ids_timer();
  };
  bridge_.on_image = [this] { coordinator_.use_image(bridge_.image(), bridge_.broker_id()); };
  bridge_.on_reply = [this](std::uint64_t number, Bytes response) { return on_block_response(number, response); };
}

Service::~Service() { io_.disarm(producer_ids_due_); }

Result<void> Service::start(const std::string& path) {
  auto listener = ipc::Listener::create(io_, bell_, path, {.roles = {ipc::Role::broker, ipc::Role::tool}},
                                        [this](std::unique_ptr<ipc::SocketLink> link) { on_session(std::move(link)); });
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  bridge_.connect();
  return {};
}

// -- Sessions with the broker and with tools -----------------------------------------------------------------------

void Service::on_session(std::unique_ptr<ipc::SocketLink> link) {
  const ipc::Role role = link->peer_role();
  const std::size_t sessions_max = role == ipc::Role::tool ? kToolSessionsMax : kSessionsMax;
  const auto is_alike = [&](const auto& each) { return each.second.role == role; };
  if (std::cmp_equal(std::ranges::count_if(sessions_, is_alike), sessions_max)) {
    return log_warning("session refused reason=\"too many\"");
  }
  const std::uint64_t id = next_session_++;
  link->on_closed = [this, id] { sessions_.at(id).is_closed = true; };
  Session& session = sessions_[id];
  session.role = role;
  session.channel = std::make_unique<ipc::MessageChannel>(io_, std::move(link));
  open_sessions_.set(sessions_.size());
}

bool Service::work_on_sessions() {
  bool worked = false;
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    auto& [id, session] = *at;
    if (!session.is_closed) {
      worked |= session.channel->poll(
          [this, number = id](std::uint32_t type, Bytes message) { on_message(number, type, message); });
    }
    if (!session.is_closed && !session.is_violated && !session.channel->is_broken()) {
      ++at;
      continue;
    }
    if (session.is_closed) {
      if (session.role != ipc::Role::tool) log_info("session ended session={}", id);  // tools come and go
    } else {
      log_warning("session ended session={} reason=\"it broke the protocol\"", id);
    }
    lag_reader_.forget(id);
    at = sessions_.erase(at);
    open_sessions_.set(sessions_.size());
    worked = true;
  }
  return worked;
}

void Service::on_message(std::uint64_t session, std::uint32_t type, Bytes message) {
  Session& from = sessions_.at(session);
  if (from.is_violated) return;
  const bool is_sound =
      from.role == ipc::Role::tool ? on_lag_request(session, type, message) : on_forwarded(session, type, message);
  if (!is_sound) from.is_violated = true;
}

bool Service::on_forwarded(std::uint64_t session, std::uint32_t type, Bytes message) {
  const Result<node::ForwardedFrame> forwarded = node::parse_forwarded_frame(message);
  kafka::RequestHeader header;
  std::size_t body_at = 0;
  // The broker has read the header of whatever it forwards.
  if (static_cast<ControlType>(type) != ControlType::forward || !forwarded ||
      !kafka::decode_request_header(forwarded->frame, header, body_at)) {
    return false;
  }
  requests_.add();
  const Call call{next_token_++, header.api_key, header.api_version};
  open_[call.token] = {session, forwarded->number, header.api_key, header.api_version, header.correlation_id};
  const Bytes body = forwarded->frame.subspan(body_at);
  if (!serves(call.api_key, call.api_version)) {
    refuse(call.token);
  } else if (call.api_key == kafka::api_key::kInitProducerId) {
    init_producer_id(call, body);
  } else {
    const std::string host = "/" + std::string(forwarded->host);  // InetAddress.toString
    if (!coordinator_.serve(call, {header.client_id.value_or(""), host}, body)) refuse(call.token);
  }
  return true;
}

bool Service::on_lag_request(std::uint64_t session, std::uint32_t type, Bytes message) {
  Session& from = sessions_.at(session);
  // Who asks again has read the last answer; else answers would pile up here.
  const bool has_all = !std::exchange(from.is_asking, true) && !from.channel->has_waiting();
  if (static_cast<ControlType>(type) != ControlType::group_lag || !has_all) return false;
  const auto request = kafka::decode_exactly<kafka::GroupLagRequest>(message, 0);
  if (!request || request->rows_max < 1 || request->rows_max > kafka::kGroupLagRowsMax ||
      (request->after_topic && !request->after_group)) {
    return false;
  }
  std::unique_ptr<LagPage> page =
      coordinator_.lag_page(static_cast<std::size_t>(request->rows_max),
                            {request->after_group, request->after_topic, request->after_partition});
  if (page == nullptr) {
    answer_lag(session, {.is_loading = true});
  } else {
    lag_reader_.start(session, std::move(page));
  }
  return true;
}

void Service::answer_lag(std::uint64_t session, const kafka::GroupLagResponse& response) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;  // nobody wants to know any more
  lag_pages_.add();
  found->second.is_asking = false;
  buffer_.clear();
  kafka::encode(response, 0, buffer_);
  found->second.channel->send(static_cast<std::uint32_t>(ControlType::group_lag_reply), {buffer_.bytes()});
}

void Service::on_identity() {
  engine_.identify(bridge_.cluster_id(), bridge_.broker_id());
  apply(producer_ids_.on_reachable(io_.now()));
}

// -- Answers -------------------------------------------------------------------------------------------------------

std::optional<Service::Origin> Service::take(std::uint64_t token) {
  const auto found = open_.find(token);
  if (found == open_.end()) return std::nullopt;
  const Origin origin = found->second;
  open_.erase(found);
  return origin;
}

void Service::answer(std::uint64_t token, Bytes body) {
  const std::optional<Origin> origin = take(token);
  if (!origin) return;
  buffer_.clear();
  kafka::encode_response_header(origin->correlation_id,
                                kafka::response_header_version(origin->api_key, origin->api_version), buffer_);
  buffer_.append(body);
  send(*origin, ControlType::forward_reply, buffer_.bytes());
}

void Service::fail(std::uint64_t token, ErrorCode error) {
  const std::optional<Origin> origin = take(token);
  if (!origin) return;
  std::array<std::byte, sizeof(std::int16_t)> code;
  store_big_endian(code.data(), kafka::wire(error));
  send(*origin, ControlType::forward_error, code);
}

void Service::refuse(std::uint64_t token) {
  const std::optional<Origin> origin = take(token);
  if (!origin) return;
  refused_.add();
  send(*origin, ControlType::forward_reply, {});
}

void Service::send(const Origin& to, ControlType type, Bytes message) {
  const auto session = sessions_.find(to.session);
  if (session == sessions_.end()) return;  // the broker that asked is gone, and its clients with it
  session->second.channel->send(static_cast<std::uint32_t>(type), {node::frame_number(to.number), message});
}

// -- InitProducerId ------------------------------------------------------------------------------------------------

// KafkaApis.handleInitProducerIdRequest and TransactionCoordinator.handleInitProducerId.
void Service::init_producer_id(const Call& call, Bytes body) {
  const auto request = kafka::decode<kafka::InitProducerIdRequest>(body, call.api_version);
  if (!request) return refuse(call.token);
  const bool has_id = request->producer_id != kNoProducerId;
  const bool has_epoch = request->producer_epoch != kNoProducerEpoch;
  if (has_id != has_epoch) return give_producer_id(call, kNoProducerId, ErrorCode::INVALID_REQUEST);
  if (request->transactional_id && request->transactional_id->empty()) {
    return give_producer_id(call, kNoProducerId, ErrorCode::INVALID_REQUEST);
  }
  if (request->transactional_id) {
    if (!std::exchange(is_transaction_logged_, true)) {
      log_warning("transactional producer refused reason=\"transactions are not served yet\"");
    }
    // Of the errors that every client takes as final, the one that is about transactional ids: librdkafka asks again
    // and again after UNSUPPORTED_VERSION.
    return give_producer_id(call, kNoProducerId, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  }
  // An id and epoch that the producer has are of no interest without a transactional id: it gets a new one.
  waiting_for_ids_[call.token] = call;
  apply(producer_ids_.take(call.token, io_.now()));
}

void Service::give_producer_id(const Call& call, ProducerId id, ErrorCode error) {
  kafka::InitProducerIdResponse response{.error_code = kafka::wire(error), .producer_id = id};
  if (id == kNoProducerId) {
    refused_.add();
    response.producer_epoch = kNoProducerEpoch;
  } else {
    producer_ids_given_.add();
  }
  kafka::Buffer body;
  kafka::encode(response, call.api_version, body);
  answer(call.token, body.bytes());
}

void Service::apply(const ProducerIds::Effects& effects) {
  for (const ProducerIds::Answer& answer : effects.answers) {
    const auto found = waiting_for_ids_.find(answer.token);
    const Call call = found->second;
    waiting_for_ids_.erase(found);
    // As Kafka without a block: all clients retry.
    give_producer_id(call, answer.id,
                     answer.id == kNoProducerId ? ErrorCode::COORDINATOR_LOAD_IN_PROGRESS : ErrorCode::NONE);
  }
  if (effects.request_block) request_block();
  arm_producer_ids_timer();
}

void Service::request_block() {
  buffer_.clear();
  kafka::encode_request_header(
      {.api_key = kafka::api_key::kAllocateProducerIds, .api_version = kAllocateVersion, .client_id = "groupcoord"},
      buffer_);
  const kafka::AllocateProducerIdsRequest request{.broker_id = bridge_.broker_id(),
                                                  .broker_epoch = bridge_.broker_epoch()};
  kafka::encode(request, kAllocateVersion, buffer_);
  block_request_ = bridge_.send(buffer_.bytes());
}

bool Service::on_block_response(std::uint64_t number, Bytes response) {
  if (number != block_request_) return true;  // an answer that came too late: its block is skipped
  block_request_ = 0;
  if (response.empty()) {
    on_block_refused(kafka::wire(ErrorCode::BROKER_NOT_AVAILABLE));
    return true;
  }
  std::int32_t correlation_id = 0;
  std::size_t body_at = 0;
  const std::int16_t header_version =
      kafka::response_header_version(kafka::api_key::kAllocateProducerIds, kAllocateVersion);
  if (!kafka::decode_response_header(response, header_version, correlation_id, body_at)) return false;
  const auto block = kafka::decode<kafka::AllocateProducerIdsResponse>(response.subspan(body_at), kAllocateVersion);
  if (!block) return false;
  if (block->error_code != 0) {
    on_block_refused(block->error_code);
    return true;
  }
  const ProducerIdBlock given{block->producer_id_start, block->producer_id_len};
  if (producer_ids_.accepts(given)) {
    log_info("producer ids first={} count={}", given.first, given.size);
    is_refusal_logged_ = false;
    blocks_.add();
  } else if (!std::exchange(is_refusal_logged_, true)) {
    log_warning("producer ids not taken first={} count={} reason=\"not beyond all earlier ones\"", given.first,
                given.size);
  }
  apply(producer_ids_.on_block(given, io_.now()));
  return true;
}

void Service::on_block_refused(std::int16_t error) {
  if (!std::exchange(is_refusal_logged_, true)) log_warning("no producer ids error={}", kafka::error_name(error));
  const bool is_unknown =
      error == kafka::wire(ErrorCode::STALE_BROKER_EPOCH) || error == kafka::wire(ErrorCode::BROKER_ID_NOT_REGISTERED);
  if (is_unknown) bridge_.renew();
  apply(producer_ids_.on_refused(io_.now()));
}

void Service::on_producer_ids_due() { apply(producer_ids_.on_time(io_.now())); }

void Service::arm_producer_ids_timer() {
  const std::optional<Instant> due = producer_ids_.due();
  if (due) {
    io_.arm(producer_ids_due_, *due);
  } else {
    io_.disarm(producer_ids_due_);
  }
}

// -- The loop ------------------------------------------------------------------------------------------------------

bool Service::work() {
  bool worked = engine_.work();
  worked |= work_on_sessions();
  worked |= bridge_.work();
  coordinator_.work();
  lag_reader_.work();
  engine_.publish();
  for (auto& [id, session] : sessions_) session.channel->publish();
  open_requests_.set(open_.size());
  return worked;
}

bool Service::prepare_to_sleep() {
  bool may_sleep = bridge_.prepare_to_sleep();
  may_sleep &= engine_.prepare_to_sleep();
  for (auto& [id, session] : sessions_) may_sleep &= session.channel->prepare_to_sleep();
  return may_sleep;
}

void Service::wake() {
  bridge_.wake();
  engine_.wake();
  for (auto& [id, session] : sessions_) session.channel->wake();
}

}  // namespace tailrace::groupcoord
