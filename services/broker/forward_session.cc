#include "services/broker/forward_session.h"

#include <utility>

#include "services/node/control.h"

namespace tailrace::broker {

ForwardSession::ForwardSession(io::Io& io, const ipc::Bell& bell, std::string socket_path, Forwarder& forwarder)
    : io_(io),
      forwarder_(forwarder),
      connector_(io, bell, std::move(socket_path), {.role = ipc::Role::broker, .ring_bytes = 1u << 17},
                 [this](std::unique_ptr<ipc::SocketLink> link) { on_session(std::move(link)); }) {}

void ForwardSession::on_session(std::unique_ptr<ipc::SocketLink> link) {
  link_ = link.get();
  link_->on_closed = [this] { on_closed(); };
  channel_ = std::make_unique<ipc::MessageChannel>(io_, std::move(link));
  forwarder_.use(channel_.get());
}

void ForwardSession::on_closed() {
  forwarder_.use(nullptr);
  ended_channel_ = std::move(channel_);
  link_ = nullptr;
  connector_.connect();
}

bool ForwardSession::work() {
  ended_channel_.reset();
  if (channel_ == nullptr) return false;
  const bool worked = channel_->poll([this](std::uint32_t type, Bytes message) {
    const Result<node::NumberedFrame> numbered = node::parse_numbered_frame(message);
    if (!numbered) return;
    const auto kind = static_cast<node::ControlType>(type);
    if (kind == node::ControlType::forward_reply) return forwarder_.on_reply(numbered->number, numbered->frame);
    if (kind != node::ControlType::forward_error || numbered->frame.size() != sizeof(std::int16_t)) return;
    forwarder_.on_error(numbered->number, load_big_endian<std::int16_t>(numbered->frame.data()));
  });
  if (channel_ != nullptr && channel_->is_broken() && link_ != nullptr) link_->close();
  return worked;
}

void ForwardSession::publish() {
  if (channel_ != nullptr) channel_->publish();
}

bool ForwardSession::prepare_to_sleep() { return channel_ == nullptr || channel_->prepare_to_sleep(); }

void ForwardSession::wake() {
  if (channel_ != nullptr) channel_->wake();
}

}  // namespace tailrace::broker
