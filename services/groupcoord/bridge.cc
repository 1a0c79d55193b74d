#include "services/groupcoord/bridge.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/node/control.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

using node::ControlType;

constexpr std::int8_t kFullUpdate = 2;  // AbstractControlRequest.Type.FULL
// Before a session that we ended ourselves is made anew: what was wrong with it is probably still wrong.
constexpr Duration kPauseAfterEnding = std::chrono::milliseconds(100);

}  // namespace

Bridge::Bridge(io::Io& io, const ipc::Bell& bell, const std::string& path, const node::Config& config)
    : io_(io),
      config_(config),
      connector_(io, bell, path, {.role = ipc::Role::groupcoord},
                 [this](std::unique_ptr<ipc::SocketLink> link) { on_session(std::move(link)); }),
      image_(node::MetadataImage::empty()) {
  pause_.bind<&Bridge::on_pause_over>(this);
}

Bridge::~Bridge() { io_.disarm(pause_); }

void Bridge::on_session(std::unique_ptr<ipc::SocketLink> link) {
  ending_ = Ending::none;
  link->on_closed = [this] { ending_ = Ending::closed; };
  channel_ = std::make_unique<ipc::MessageChannel>(io_, std::move(link));
  kafka::Buffer hello;
  kafka::encode(kafka::NodeRegistrationRequest{}, 0, hello);  // no endpoints: not a broker
  channel_->send(static_cast<std::uint32_t>(ControlType::hello), {hello.bytes()});
}

std::uint64_t Bridge::send(Bytes frame) {
  CHECK(is_registered_);
  const std::uint64_t number = next_number_++;
  channel_->send(static_cast<std::uint32_t>(ControlType::forward), {node::forwarded_prefix(number, ""), frame});
  return number;
}

void Bridge::renew() {
  if (channel_ != nullptr && ending_ == Ending::none) ending_ = Ending::unwanted;
}

void Bridge::on_message(std::uint32_t type, Bytes message) {
  if (ending_ != Ending::none) return;
  switch (static_cast<ControlType>(type)) {
    case ControlType::welcome:
      return on_welcome(message);
    case ControlType::forward_reply: {
      const Result<node::NumberedFrame> reply = node::parse_numbered_frame(message);
      if (!is_registered_ || !reply || !on_reply(reply->number, reply->frame)) ending_ = Ending::violated;
      return;
    }
    case ControlType::config_image:
      if (on_config_image(message)) return;
      break;
    case ControlType::control:
      if (on_control(message)) return;
      break;
    case ControlType::hello:
    case ControlType::forward:
    case ControlType::forward_error:
    case ControlType::group_lag:
    case ControlType::group_lag_reply:
    case ControlType::control_reply:
      break;
  }
  ending_ = Ending::violated;
}

void Bridge::on_welcome(Bytes message) {
  const auto welcome = kafka::decode<kafka::NodeRegistrationResponse>(message, 0);
  if (!welcome) {
    ending_ = Ending::violated;
    return;
  }
  if (welcome->error_code != 0) {
    if (!std::exchange(is_refusal_logged_, true)) {
      log_warning("zkbridge refuses this process error={}", kafka::error_name(welcome->error_code));
    }
    ending_ = Ending::unwanted;
    return;
  }
  is_refusal_logged_ = false;
  if (broker_id_ != welcome->broker_id || broker_epoch_ != welcome->broker_epoch) {
    log_info("node cluster={} broker={} epoch={}", welcome->cluster_id, welcome->broker_id, welcome->broker_epoch);
  }
  broker_id_ = welcome->broker_id;
  broker_epoch_ = welcome->broker_epoch;
  cluster_id_ = std::string(welcome->cluster_id);
  is_registered_ = true;
  on_registered();
}

bool Bridge::on_config_image(Bytes message) {
  const auto settings = kafka::decode<kafka::ConfigImage>(message, 0);
  if (!is_registered_ || !settings) return false;
  image_ = image_->with(*settings, config_, broker_id_);
  if (has_topics_) on_image();
  return true;
}

bool Bridge::on_control(Bytes message) {
  const Result<node::NumberedFrame> numbered = node::parse_numbered_frame(message);
  kafka::RequestHeader header;
  std::size_t body_at = 0;
  if (!is_registered_ || !numbered || !kafka::decode_request_header(numbered->frame, header, body_at)) return false;
  if (header.api_key != kafka::api_key::kUpdateMetadata) return false;
  auto update = kafka::decode<kafka::UpdateMetadataRequest>(numbered->frame.subspan(body_at), header.api_version);
  if (!update) return false;
  // The first of a session has everything: what it does not name was deleted while we were not connected.
  if (!std::exchange(has_topics_, true)) update->type = kFullUpdate;
  image_ = image_->with(*update, config_);
  kafka::Buffer reply;
  kafka::encode_response_header(header.correlation_id,
                                kafka::response_header_version(header.api_key, header.api_version), reply);
  kafka::encode(kafka::UpdateMetadataResponse{}, header.api_version, reply);
  channel_->send(static_cast<std::uint32_t>(ControlType::control_reply),
                 {node::frame_number(numbered->number), reply.bytes()});
  on_image();
  return true;
}

bool Bridge::work() {
  if (channel_ == nullptr) return false;
  const bool worked = channel_->poll([this](std::uint32_t type, Bytes message) { on_message(type, message); });
  if (channel_->is_broken() && ending_ != Ending::closed) ending_ = Ending::violated;
  if (ending_ != Ending::none) {
    end_session();
    return true;
  }
  channel_->publish();
  return worked;
}

void Bridge::end_session() {
  channel_.reset();
  if (ending_ == Ending::violated) log_warning("session with zkbridge ended reason=\"it broke the protocol\"");
  if (ending_ == Ending::closed) log_info("session with zkbridge ended");
  if (ending_ == Ending::closed) {
    connector_.connect();
  } else {
    io_.arm(pause_, io_.now() + kPauseAfterEnding);
  }
  ending_ = Ending::none;
  const bool was_registered = is_registered_;
  is_registered_ = has_topics_ = false;
  if (was_registered) on_lost();
}

bool Bridge::prepare_to_sleep() { return channel_ == nullptr || channel_->prepare_to_sleep(); }

void Bridge::wake() {
  if (channel_ != nullptr) channel_->wake();
}

}  // namespace tailrace::groupcoord
